"""Log lines as JSON objects, one a line, for programs that gather them."""

import json
import logging
import sys
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object: time, level, logger, message, and the fields given as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr() -> None:
    """Send the log of the marketplace and its web server to stderr; to a terminal only what is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    requests = logging.WARNING if sys.stderr.isatty() else logging.INFO
    levels = {
        "prefjudge.marketplace": requests,
        "uvicorn.error": logging.WARNING,
        "python_multipart": logging.ERROR,  # no warnings of malformed forms: their sender is told
    }
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler]
        logger.propagate = False
