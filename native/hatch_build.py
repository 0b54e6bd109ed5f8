"""Puts the native reader into a wheel where cargo is; a wheel that is built without it works too, and is for every platform."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeReader(BuildHookInterface[Any]):
    """Hatchling makes one for each build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            # `make setup` builds it by itself, and again when its sources change.
            return
        spec = importlib.util.spec_from_file_location("build", Path(self.root) / "native" / "build.py")
        assert spec is not None
        assert spec.loader is not None
        native = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(native)
        built = native.build()
        if isinstance(built, str):
            self.app.display_warning(f"The wheel has no native reader: {built}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][str(built)] = native.MODULE
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
