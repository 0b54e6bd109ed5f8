"""What is loaded, from where, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from gregor.config import Config, Flag, load, resolve
from gregor.config.keys import KEYS
from gregor.errors import EXIT_USAGE, ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gregor.toml"


def problems(file: Path, text: str, env: dict[str, str] | None = None) -> tuple[str, ...]:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file, env or {})
    assert caught.value.exit_code == EXIT_USAGE
    return caught.value.problems


def problem(file: Path, text: str) -> str:
    (only,) = problems(file, text)
    return only


def written(default: Any) -> str:
    """A default as TOML."""
    match default:
        case bool():
            return str(default).lower()
        case str():
            return f'"{default}"'
        case tuple():
            return "[]"
        case dict():
            return "{}"
        case _:
            return repr(default)


def test_without_a_file_every_value_is_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load(None, {})
    assert loaded.config == Config()
    assert loaded.path is None
    assert set(loaded.origin.values()) == {"default"}


def test_every_default_written_to_a_file_gives_the_same_configuration(file: Path) -> None:
    sections: dict[str, list[str]] = {}
    for path, key in KEYS.items():
        section, _, name = path.partition(".")
        if not section.endswith("[]"):
            sections.setdefault(section, []).append(f"{name} = {written(key.default)}")
    file.write_text("".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items()))
    loaded = load(file, {})
    assert loaded.config == Config()
    assert loaded.config.config_version == Config().config_version
    assert all(origin.startswith("file ") for origin in loaded.origin.values())


def test_every_default_given_as_a_variable_gives_the_same_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = {
        f"GREGOR_{path.replace('.', '__').upper()}": written(key.default)
        for path, key in KEYS.items()
        if "[]" not in path
    }
    assert load(None, env).config == Config()


def test_every_key_says_what_it_means() -> None:
    assert all(key.description.endswith(".") and key.expected for key in KEYS.values())


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(file: Path) -> None:
    file.write_text("[fetch]\ndelay_s = 2\nconnections = 2\nmax_headers = 20\n")
    env = {"GREGOR_FETCH__DELAY_S": "3", "GREGOR_FETCH__CONNECTIONS": "3"}
    loaded = load(file, env, {"fetch.delay_s": Flag(4, "--delay"), "fetch.max_headers": None})
    fetch, origin = loaded.config.fetch, loaded.origin
    assert (fetch.delay_s, fetch.connections, fetch.max_headers) == (4.0, 3, 20)
    assert origin["fetch.delay_s"] == "flag --delay"
    assert origin["fetch.connections"] == "environment GREGOR_FETCH__CONNECTIONS"
    assert origin["fetch.max_headers"] == f"file {file}:4"
    assert origin["fetch.delay_factor"] == "default"


def test_the_file_is_the_one_asked_for_else_the_variable_else_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("asked", "variable", "gregor"):
        Path(f"{name}.toml").write_text(f'crawl.name = "{name}"')
    env = {"GREGOR_CONFIG": "variable.toml"}
    assert load(Path("asked.toml"), env).config.crawl.name == "asked"
    assert load(None, env).config.crawl.name == "variable"
    assert load(None, {}).config.crawl.name == "gregor"


def test_a_variable_may_be_plain_text_or_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = {
        "GREGOR_CRAWL__NAME": "2024",
        "GREGOR_CRAWL__SCOPE": '"any"',
        "GREGOR_CRAWL__SEEDS": '["http://a.example/"]',
        "GREGOR_ROBOTS__OBEY": "false",
        "GREGOR_CACHE": "anything",
    }
    config = load(None, env).config
    assert (config.crawl.name, config.crawl.scope) == ("2024", "any")
    assert config.crawl.seeds == ("http://a.example/",)
    assert config.robots.obey is False


def test_a_variable_cannot_smuggle_in_a_second_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"fetch\.delay_s"):
        load(None, {"GREGOR_FETCH__DELAY_S": "1\nother = 2"})


def test_bytes_that_are_not_utf_8_are_refused_from_a_variable(file: Path) -> None:
    (message,) = problems(file, "", {"GREGOR_STATE__FOLDER": "\udcff"})
    assert message.startswith("environment GREGOR_STATE__FOLDER: state.folder: found the string ")
    assert message.isprintable()


def test_an_unknown_key_is_named_with_its_line_its_value_and_the_nearest_one(file: Path) -> None:
    message = problem(file, "# politeness\n[fetch]\n\ndely_s = 0.5\n")
    assert message.startswith(f"{file}:4: fetch.dely_s: found 0.5, ")
    assert message.endswith("the nearest known key is fetch.delay_s")


def test_a_key_in_the_wrong_section_is_sent_to_the_right_one(file: Path) -> None:
    assert problem(file, "[crawl]\ndelay_s = 2").endswith("the nearest known key is fetch.delay_s")


def test_an_unknown_section_is_named_with_the_nearest_one(file: Path) -> None:
    message = problem(file, "[robts]\nobey = true")
    assert message.startswith(f"{file}:1: robts: ")
    assert message.endswith("nearest known key is robots")


def test_an_unknown_variable_is_refused_with_the_nearest_key(file: Path) -> None:
    (message,) = problems(file, "", {"GREGOR_FETCH__CONECTIONS": "3"})
    assert message.startswith("environment GREGOR_FETCH__CONECTIONS: fetch.conections: found 3, ")
    assert message.endswith("the nearest known key is fetch.connections")


def test_server_tables_cannot_come_from_a_variable(file: Path) -> None:
    (message,) = problems(file, "", {"GREGOR_SERVER__MATCH": "*"})
    assert "[[server]] tables in the file only" in message


@pytest.mark.parametrize(
    ("text", "key", "found", "expected"),
    [
        ('[fetch]\ndelay_s = "fast"', "fetch.delay_s", 'the string "fast"', "a number from 0 to 86400"),
        ("[fetch]\ndelay_s = true", "fetch.delay_s", "true", "a number from 0 to 86400"),
        ("[fetch]\ndelay_s = nan", "fetch.delay_s", "nan", "a number from 0 to 86400"),
        ("[fetch]\ntotal_timeout_s = inf", "fetch.total_timeout_s", "inf", "a number above 0 and at most 3600"),
        ("[fetch]\nconnections = 1.5", "fetch.connections", "1.5", "a whole number from 1 to 65536"),
        ("[fetch]\nconnections = 0", "fetch.connections", "0", "a whole number from 1 to 65536"),
        ("[crawl]\nname = 'Big Crawl'", "crawl.name", 'the string "Big Crawl"', "a string matching ^[a-z0-9]"),
        ("[crawl]\nscope = 'host'", "crawl.scope", 'the string "host"', 'one of "hosts", "domains", "any"'),
        ("[crawl]\nseeds = 'http://a/'", "crawl.seeds", 'the string "http://a/"', "a list of strings"),
        ("[crawl]\nseeds = ['a.example']", "crawl.seeds", 'the string "a.example"', "http:// or https://"),
        ("[crawl]\ncontact = 'me'", "crawl.contact", 'the string "me"', "a URL"),
        ("[robots]\nobey = 'yes'", "robots.obey", 'the string "yes"', "true or false"),
        ("[robots]\nmax_bytes = 1000", "robots.max_bytes", "1000", "a whole number from 512000 to 5242880"),
        ("[partitions]\npartitions = 12", "partitions.partitions", "12", "a power of two"),
        ("[partitions]\nrepositories = 12", "partitions.repositories", "12", "a power of two"),
        ("[partitions]\nrepositories = 4", "partitions.partitions", "8", "at most partitions.repositories, which is 4"),
        ("[kafka]\nbootstrap = 'broker'", "kafka.bootstrap", 'the string "broker"', "host:port"),
        ("[kafka]\nbootstrap = 'a:1,b:99999'", "kafka.bootstrap", 'the string "a:1,b:99999"', "host:port"),
        ("[fetch]\nallow_addresses = ['home']", "fetch.allow_addresses", 'the string "home"', "address blocks"),
        ("[fetch]\ntypes = ['html']", "fetch.types", 'the string "html"', "media types"),
        ("fetch = 3", "fetch", "3", "a table [fetch]"),
        ("[server]\nmatch = 'a'", "server", "a table of 1", "tables that begin with [[server]]"),
        ("[[server]]\ndelay_s = 1", "server[0].match", "no such key", "a string of 1 to 255 characters"),
        ("[[item]]\nname = 'a'", "item[0].match", "no such key", "a string of 1 to 1000 characters"),
        (
            "[[item]]\nname = 'page'\nmatch = 'x'\nfunction = 'm:f'",
            "item[0].name",
            'the string "page"',
            "a name of its own",
        ),
        ("[[item]]\nname = 'a'\nmatch = 'x'", "item[0].fields", "neither", "either fields or a function"),
        ("[[item]]\nname = 'a'\nmatch = '('\nfunction = 'm:f'", "item[0].match", 'the string "("', "of RE2"),
        ("[[item]]\nname = 'a'\nmatch = '(?=x)'\nfunction = 'm:f'", "item[0].match", 'the string "(?=x)"', "of RE2"),
        (
            "[[item]]\nname = 'a'\nmatch = 'x'\nfields = {t = 'h1'}",
            "item[0].fields",
            "a table of 1",
            "a table of fields such as title =",
        ),
        (
            "[[item]]\nname = 'a'\nmatch = 'x'\n[item.fields]\nt = {css = 'h1['}",
            "item[0].fields",
            'the string "h1["',
            "a CSS selector",
        ),
        (
            "[[item]]\nname = 'a'\nmatch = 'x'\n[item.fields]\nt = {xpath = '//['}",
            "item[0].fields",
            'the string "//["',
            "an XPath expression",
        ),
        ("[scope]\nexclude = ['*']", "scope.exclude", 'the string "*"', "a regular expression of RE2"),
        ("[scope]\nprefixes = ['/docs']", "scope.prefixes", 'the string "/docs"', "beginnings of URLs"),
        ("[scope]\ndomains = ['*.example']", "scope.domains", 'the string "*.example"', "names such as"),
        ("[extract]\npage_facts = ['author']", "extract.page_facts", "a list of 1", "a list of"),
        ("[[server]]\nmatch = 'a b'", "server[0].match", 'the string "a b"', "a server name with * and ?"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_was_expected(
    file: Path, text: str, key: str, found: str, expected: str
) -> None:
    message = problem(file, text)
    assert message.startswith(f"{file}:")
    assert f": {key}: found {found}, expected " in message
    assert expected in message


def test_all_problems_are_told_and_the_message_counts_them(file: Path) -> None:
    file.write_text("[fetch]\nconnections = 0\ndelay = 1\n[crawl]\nscope = 'all'\n")
    with pytest.raises(ConfigError) as caught:
        load(file, {})
    assert len(caught.value.problems) == 3
    assert str(caught.value).startswith(f"{file}:2: fetch.connections")
    assert str(caught.value).endswith("2 more: `gregor config check` lists them")


def test_a_problem_in_a_later_server_table_is_found_at_its_own_line(file: Path) -> None:
    text = '[[server]]\nmatch = "a"\n\n[[server]]\nmatch = "b"\n[server.headers]\nX = "1"\n[[server]]\nmatch = 3\n'
    assert problem(file, text).startswith(f"{file}:9: server[2].match: found 3")


def test_lines_are_right_below_a_text_over_several_lines(file: Path) -> None:
    text = '[crawl]\ncontact = """https://a.example/\\\n  [fetch]\n  delay_s = 1"""\nnme = 1\n'
    assert any(message.startswith(f"{file}:5: crawl.nme") for message in problems(file, text))


def test_a_header_cannot_carry_a_second_header(file: Path) -> None:
    message = problem(file, '[[server]]\nmatch = "*"\nheaders = {X = "1\\r\\nHost: evil"}')
    assert "server[0].headers" in message
    assert "evil" not in message


def test_a_secret_in_plain_text_is_refused_and_not_repeated(file: Path) -> None:
    message = problem(file, '[kafka.security]\n"sasl.password" = "hunter2"')
    assert "kafka.security.sasl.password" in message
    assert "env:NAME or file:PATH" in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    "text",
    [
        "kafka.security = 'hunter2'",
        "[kafka]\nsasl_password = 'hunter2'",
        "[kafka.security]\nsasl.password = ['hunter2']",
    ],
)
def test_a_misplaced_secret_is_not_repeated_either(file: Path, text: str) -> None:
    assert "hunter2" not in problem(file, text)


def test_security_cannot_overrule_what_exactly_once_rests_on(file: Path) -> None:
    assert "enable.auto.commit" in problem(file, '[kafka.security]\nenable.auto.commit = "true"')


def test_security_keys_may_be_quoted_bare_or_variables(file: Path) -> None:
    file.write_text('[kafka.security]\n"security.protocol" = "SASL_SSL"\nsasl.username = "me"\n')
    loaded = load(file, {"GREGOR_KAFKA__SECURITY__SASL_PASSWORD": "env:PASSWORD"})
    assert loaded.config.kafka.security == {
        "security.protocol": "SASL_SSL",
        "sasl.username": "me",
        "sasl.password": "env:PASSWORD",
    }
    assert loaded.origin["kafka.security.sasl.username"] == f"file {file}:3"


def test_references_are_resolved_only_when_asked(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from file\n")
    values = {"sasl.password": "env:PASSWORD", "ssl.key.password": f"file:{secret}", "sasl.username": "me"}
    assert resolve(values, {"PASSWORD": "from env"}) == {
        "sasl.password": "from env",
        "ssl.key.password": "from file",
        "sasl.username": "me",
    }


@pytest.mark.parametrize("reference", ["env:NOT_SET", "file:/not/there", "file:/"])
def test_a_reference_to_nothing_says_so(reference: str) -> None:
    with pytest.raises(ConfigError, match=f"sasl.password: found {reference}, but"):
        resolve({"sasl.password": reference}, {})


def test_the_config_version_follows_decisions_and_not_where_a_member_runs() -> None:
    env = {"GREGOR_STATE__FOLDER": "elsewhere", "GREGOR_KAFKA__BOOTSTRAP": "b:1"}
    nowhere = Path("/dev/null")
    assert load(nowhere, env).config.config_version == Config().config_version
    assert load(nowhere, {"GREGOR_FETCH__DELAY_S": "2"}).config.config_version != Config().config_version


def test_names_carry_the_crawl(file: Path) -> None:
    file.write_text('crawl.name = "news-2"')
    names = load(file, {}).config.names
    assert names.topic("discovered") == "news-2.discovered"
    assert names.group("frontier") == "news-2.frontier"
    assert names.transactional_id("frontier", "7f3a") == "news-2.frontier.7f3a"


def test_the_robots_agent_and_the_header_follow_the_user_agent(file: Path) -> None:
    file.write_text('[crawl]\nuser_agent = "mybot"\ncontact = "https://bot.example/"')
    config = load(file, {}).config
    assert config.robots_agent == "mybot"
    assert config.user_agent_header == "mybot (+https://bot.example/)"
