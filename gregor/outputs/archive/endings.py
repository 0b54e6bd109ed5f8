"""The ending of a file by its media type.

A table of our own: Python's takes the first of several by the alphabet (`.xsl` for application/xml), and reads what the machine has to say
of types, so that the same archive would be exported otherwise elsewhere. What can be run has no entry.
"""

from typing import Final

UNKNOWN: Final = ".bin"

# fmt: off
_ENDINGS: Final = {
    "text/html": ".html", "application/xhtml+xml": ".xhtml",
    "text/css": ".css", "text/csv": ".csv", "text/markdown": ".md", "text/calendar": ".ics", "text/vcard": ".vcf",
    "text/tab-separated-values": ".tsv", "text/vtt": ".vtt", "text/xml": ".xml", "text/rtf": ".rtf",
    "text/javascript": ".js", "application/javascript": ".js", "application/x-javascript": ".js", "text/ecmascript": ".js",
    "application/ecmascript": ".js",
    "application/json": ".json", "text/json": ".json", "application/x-ndjson": ".jsonl", "application/jsonl": ".jsonl",
    "application/xml": ".xml", "application/xslt+xml": ".xsl", "application/yaml": ".yaml", "text/yaml": ".yaml",
    "application/wasm": ".wasm", "application/pdf": ".pdf", "application/rtf": ".rtf", "application/postscript": ".ps",
    "application/epub+zip": ".epub", "application/msword": ".doc", "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.oasis.opendocument.text": ".odt", "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/zip": ".zip", "application/x-zip-compressed": ".zip", "application/gzip": ".gz", "application/x-gzip": ".gz",
    "application/x-tar": ".tar", "application/x-bzip2": ".bz2", "application/x-xz": ".xz", "application/zstd": ".zst",
    "application/x-7z-compressed": ".7z", "application/vnd.rar": ".rar", "application/x-rar-compressed": ".rar",
    "image/png": ".png", "image/jpeg": ".jpg", "image/jpg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/avif": ".avif",
    "image/svg+xml": ".svg", "image/bmp": ".bmp", "image/tiff": ".tif", "image/x-icon": ".ico", "image/vnd.microsoft.icon": ".ico",
    "image/heic": ".heic", "image/apng": ".apng",
    "audio/mpeg": ".mp3", "audio/mp4": ".m4a", "audio/aac": ".aac", "audio/ogg": ".ogg", "audio/opus": ".opus", "audio/wav": ".wav",
    "audio/x-wav": ".wav", "audio/flac": ".flac", "audio/webm": ".weba", "audio/midi": ".mid",
    "video/mp4": ".mp4", "video/mpeg": ".mpeg", "video/ogg": ".ogv", "video/webm": ".webm", "video/quicktime": ".mov",
    "video/x-msvideo": ".avi", "video/x-matroska": ".mkv", "application/vnd.apple.mpegurl": ".m3u8",
    "font/woff": ".woff", "font/woff2": ".woff2", "font/ttf": ".ttf", "font/otf": ".otf", "application/font-woff": ".woff",
    "application/vnd.ms-fontobject": ".eot",
}
_BY_SUFFIX: Final = {"+xml": ".xml", "+json": ".json", "+zip": ".zip", "+gzip": ".gz", "+yaml": ".yaml"}
# fmt: on


def ending_of(media_type: str) -> str:
    """Of a media type in lower case, without parameters; by its suffix if it is not in the table, and any other text is plain."""
    known = _ENDINGS.get(media_type)
    if known is not None:
        return known
    suffix = media_type[media_type.rfind("+") :] if "+" in media_type else ""
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    return ".txt" if media_type.startswith("text/") else UNKNOWN
