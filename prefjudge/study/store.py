"""A study: one folder, one config, one seed, one store; its tables, targets and health."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from prefjudge.database import Connection, Database, Value, file_of, redacted
from prefjudge.errors import ConfigError, InputError, StudyError, quoted
from prefjudge.study.values import parse_money, read_values

if TYPE_CHECKING:
    import numpy as np

    from prefjudge.study.config import StudyConfig


RECOVERING = "recovering"
"""Set to the reason while the store may lack what happened: the study then does not publish or pay."""
BEING_REBUILT = "is being rebuilt"
"""The reason for a new store that replaces a lost one."""
BEING_UPDATED = "is being brought up to date"
"""The reason for a store that existed when `store recover` began."""
HAPPENED = "happened elsewhere"
"""What the last look found that a person did where the people come from, as a JSON list of sentences."""
DRIVEN_SINCE = "driven since"
"""Set to when the study got its strategy."""


def load_setting(db: Connection, key: str) -> str | None:
    """Return a setting, or None."""
    value = db.value("SELECT value FROM settings WHERE key = :key", key=key)
    return None if value is None else str(value)


def keep_setting(db: Connection, key: str, value: str) -> str:
    """Store a setting unless it has a value; return its value."""
    db.insert("settings", {"key": key, "value": value}, "ON CONFLICT (key) DO NOTHING")
    return load_setting(db, key) or ""


def save_setting(db: Connection, key: str, value: str) -> None:
    """Store a setting, and replace an earlier value."""
    db.insert(
        "settings", {"key": key, "value": value}, "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    )


def count_up(db: Connection, key: str) -> int:
    """Add one to a counter, and return it: 1 the first time."""
    rows = db.insert(
        "settings",
        {"key": key, "value": "1"},
        "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)"
        " RETURNING value",
    )
    return int(rows[0][0])


def drop_setting(db: Connection, key: str) -> None:
    """Delete a setting."""
    db.execute("DELETE FROM settings WHERE key = :key", key=key)


def drop_settings(db: Connection, prefix: str) -> None:
    """Delete all settings whose names begin with a prefix."""
    db.execute("DELETE FROM settings WHERE substr(key, 1, length(:prefix)) = :prefix", prefix=prefix)


CONFIG_FILE = "study.toml"
SCHEMA_FILE = "study.schema.json"
"""By which editors complete and check the config: its first line names it."""
STORE_FILE = "study.db"
MARKETPLACE_FILE = "marketplace.db"
QRELS_FILE = "preference.qrels"
_PRIVATE = """\
# Worker ids, secrets and gold pairs stay on this machine, and so do copies of them.
*.db*
*.sqlite*
*.admin-token
gold*.tsv
*backup*
*.bak
*.dump
*.sql
*.log
.env
.*.part
"""


class Study:
    """An open study.

    Parameters
    ----------
    folder : path
        The study's folder, made by :func:`create`.
    recovering : bool
        Open a new store if the old one is lost; until it is rebuilt, nothing is published or paid.
    until : float, optional
        Open it as it stood then, to be read alone.
    """

    def __init__(self, folder: str | Path, *, recovering: bool = False, until: float | None = None) -> None:
        if not isinstance(folder, str | Path):
            given = type(folder).__name__
            raise StudyError(
                f"a study is opened by its folder, not by {given}", "Give the path of its folder."
            )
        self.folder, self.until = Path(folder), until
        self._recovering = recovering
        self._snapshot: Connection | None = None
        if self.folder.is_file():
            raise StudyError(
                f"{folder} is a file, not a study's folder",
                "Give the folder of a study. Give files by options, such as --runs.",
            )
        if not (self.folder / CONFIG_FILE).is_file():
            raise StudyError(
                f"{folder} is not a study",
                f"Check the path, or make a new study there: prefjudge init {quoted(folder)}"
                if not self.folder.exists() or not any(self.folder.iterdir())
                else "Check the path: this folder holds other files.",
            )

    @cached_property
    def config(self) -> "StudyConfig":
        """The config, read once."""
        from prefjudge.study.config import check_config

        return check_config(self._raw_config, self.folder / CONFIG_FILE)

    @cached_property
    def database(self) -> Database:
        """The store, brought up to date."""
        database = Database(self.store_url)
        if not self._recovering:
            refuse_lost(self.folder, database)
        database.migrate(STEPS)
        self._claim(database)
        return database if self.until is None else self._past(database, self.until)

    def _past(self, database: Database, until: float) -> Database:
        """Return the store as it stood."""
        with database.transaction(write=False) as db:
            first = db.value("SELECT min(collected) FROM assignments")
        database.close()
        if first is None or first > until:
            when = "none has come yet" if first is None else f"the first came on {moment(first)}"
            raise StudyError(
                f"{self.folder} had no judgments by {moment(until)}: {when}",
                "Give a later time. Imported votes came when they were imported: what a board's log has from "
                "before is in Git (docs/board.md).",
            )
        return Database(database.url, views=views_of(until))

    @property
    def _id(self) -> str:
        return str(self._raw_config.get("id") or self._raw_config.get("name", ""))

    @property
    def mark(self) -> str:
        """What marks the study's HITs at a marketplace: its id, or a digest of an id written by hand."""
        import hashlib

        plain = re.fullmatch("[0-9a-z]{12}", self._id)
        return self._id if plain else hashlib.sha256(self._id.encode()).hexdigest()[:12]

    def _claim(self, database: Database) -> None:
        """Refuse the store of another study: each would treat the other's pool and HITs as its own."""
        with database.transaction(write=False) as db:
            holder = load_setting(db, "study")
        if holder is None:
            with database.transaction() as db:
                if self._recovering:
                    keep_setting(db, RECOVERING, BEING_REBUILT)
                holder = keep_setting(db, "study", self._id)
        self.refuse_other(holder)

    def refuse_other(self, holder: str | None) -> None:
        """Refuse the store of another study, by the id that the store holds."""
        if holder not in (None, self._id):
            raise StudyError(
                f"the store {redacted(self.store_url)} belongs to another study, {holder!r}",
                f"Give {self.folder} a store of its own; if it is that study, put its id into study.toml.",
            )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the store until the block ends, even while others write to it."""
        # All read transactions in the block are one. What the block writes is stored at once, but not read
        # before the block ends.
        if self._snapshot is not None:
            yield
            return
        own = Database(
            self.database.url, views=self.database.views
        )  # a connection of its own: this thread can still write by the other
        with closing(own), own.transaction(write=False) as db:
            self._snapshot = db
            try:
                yield
            finally:
                self._snapshot = None

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Open a transaction on the store."""
        if self._snapshot is not None and not write:
            yield self._snapshot
            return
        if write and self.until is not None:
            raise StudyError(f"{self.folder}, as it stood, can only be read", "Leave out --until.")
        with self.database.transaction(write=write) as db:
            yield db

    def rng(self, stream: str) -> "np.random.Generator":
        """Return the random generator of a named stream of the study's seed."""
        import numpy as np

        return np.random.default_rng(
            np.random.SeedSequence(self.config.seed, spawn_key=tuple(stream.encode()))
        )

    def hidden_rng(self, *stream: object) -> "np.random.Generator":
        """Return a random generator seeded by the study's secret, for what hides gold pairs."""
        # The seed is public, and the files may be: with them anybody could redraw a page and find its gold
        # pairs.
        import numpy as np

        return np.random.default_rng(int(self.opaque("rng", *stream, length=64), 16))

    @cached_property
    def secret(self) -> bytes:
        """The key of the study's opaque names; it never leaves the store."""
        settled = self.setting("secret")
        if settled is None:
            with self.transaction() as db:
                settled = keep_setting(db, "secret", new_key())
        return bytes.fromhex(settled)

    def opaque(self, *parts: object, length: int = 12) -> str:
        """Return a name that means nothing without the secret; the same parts give the same name."""
        import hmac  # and with it OpenSSL: 3 MB that a verb on plain files does not need

        text = "\x1f".join(map(str, parts))
        return hmac.digest(self.secret, text.encode(), "sha256").hex()[:length]

    def setting(self, key: str) -> str | None:
        """Return a stored setting, or None."""
        with self.transaction(write=False) as db:
            return load_setting(db, key)

    def close(self) -> None:
        """Close the store."""
        if "database" in self.__dict__:
            self.database.close()

    @property
    def budget(self) -> str | None:
        """The budget in dollars, or None."""
        value = self._raw_config.get("budget")
        if value is None:
            return None
        try:
            return f"{parse_money(value):.2f}"
        except ValueError as error:
            where = self.folder / CONFIG_FILE
            raise ConfigError(f"{where}: budget: {error} (got {value!r})", "Fix this key.") from None

    @cached_property
    def _raw_config(self) -> dict[str, Any]:
        """The unchecked config: without pydantic, verbs that only read start fast."""
        return read_values(self.folder / CONFIG_FILE)

    @property
    def store_url(self) -> str:
        """Where the study's store is, or would be."""
        told = os.environ.get("PREFJUDGE_STORE")
        if told:
            return told
        url = str(self._raw_config.get("store") or f"sqlite:///{STORE_FILE}")
        file = url.removeprefix("sqlite:///")
        beside = file != url and file not in ("", ":memory:")  # these two `Database` refuses
        return f"sqlite:///{self.folder / file}" if beside else url


@overload
def open_study(study: str | Path | Study, until: str | None = None) -> Study: ...
@overload
def open_study(study: str | Path | Study | None, until: str | None = None) -> Study | None: ...
def open_study(study: str | Path | Study | None, until: str | None = None) -> Study | None:
    """Return the study that a verb is given: opened here, or already by a verb that calls it."""
    if until is not None:
        if study is None:
            raise InputError("--until is about a study, and none is given", "Name the study.")
        return Study(study.folder if isinstance(study, Study) else study, until=moment_of(until))
    return study if study is None or isinstance(study, Study) else Study(study)


def moment_of(text: str) -> float:
    """Return the time that ``--until`` names: the end of a day in UTC, or a time of the day."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"--until {text}: neither a day nor a time", "Write it as yyyy-mm-dd, or yyyy-mm-ddThh:mm."
        ) from None
    whole = timedelta(days=1, microseconds=-1) if len(text) <= len("yyyy-mm-dd") else timedelta()
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) + whole).timestamp()


def moment(seconds: float) -> str:
    """Return a time as people read it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def new_key() -> str:
    """Return 256 random bits as text, for a study's secret."""
    return os.urandom(32).hex()


def fill(template: str, *, name: str) -> str:
    """Return the text of a new study's config, with its name and an id of its own."""
    # TOML escapes like JSON, except for the control character 127, which JSON leaves as it is.
    quoted = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    return template.replace('"{name}"', quoted).replace("{id}", os.urandom(6).hex())


def new_study(folder: Path, *, config: str = "default", name: str | None = None) -> bool:
    """Make a study folder with a config to edit, unless it is one; return whether anything was written."""
    from prefjudge.study.config import load_config, parse_config, schema_text, template

    path = folder / CONFIG_FILE
    text = fill(template(config), name=name or folder.resolve().name[:100])
    if not path.exists():
        parse_config(text, path)
    created = create(folder, text, schema_text() + "\n")
    load_config(path)
    return created


def create(folder: Path, config: str, schema: str) -> bool:
    """Make a study folder with the given config and its schema; return whether anything was written."""
    path = folder / CONFIG_FILE
    if path.is_file():
        return False
    held = {one.name for one in folder.iterdir()} if folder.is_dir() else set()
    if (folder.exists() and not folder.is_dir()) or held - {".git"}:  # an empty repository is an empty folder
        raise StudyError(f"{folder} exists and is not a study", "Give a new or empty folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(_PRIVATE, encoding="utf-8")
        (folder / SCHEMA_FILE).write_text(schema, encoding="utf-8")
        path.write_text(config, encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot make {folder}: {error.strerror}", "Give another folder.") from error
    return True


STEPS = [
    """
    CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);

    CREATE TABLE inputs (
        kind TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (kind, path)
    );

    CREATE TABLE queries (query_id TEXT PRIMARY KEY, text TEXT NOT NULL);
    CREATE TABLE passages (doc_id TEXT PRIMARY KEY, text TEXT NOT NULL);
    CREATE TABLE copies (doc_id TEXT PRIMARY KEY, copy_of TEXT NOT NULL);
    CREATE TABLE pooled (
        query_id TEXT NOT NULL, doc_id TEXT NOT NULL, source TEXT NOT NULL,
        PRIMARY KEY (query_id, doc_id, source)
    );

    CREATE TABLE pairs (
        pair_id BIGINT PRIMARY KEY,
        query_id TEXT NOT NULL, doc_a TEXT NOT NULL, doc_b TEXT NOT NULL,
        votes BIGINT NOT NULL,
        UNIQUE (query_id, doc_a, doc_b)
    );

    CREATE TABLE gold (
        gold_id BIGINT PRIMARY KEY,
        query_id TEXT NOT NULL, query TEXT NOT NULL,
        good_id TEXT NOT NULL, good TEXT NOT NULL, bad_id TEXT NOT NULL, bad TEXT NOT NULL,
        practice TEXT NOT NULL, withdrawn DOUBLE PRECISION
    );

    CREATE TABLE hits (
        hit_key TEXT PRIMARY KEY,
        batch BIGINT NOT NULL, number BIGINT NOT NULL,
        target TEXT NOT NULL, assignments BIGINT NOT NULL, reward_cents BIGINT NOT NULL,
        layouts TEXT NOT NULL,
        hit_id TEXT, status TEXT NOT NULL, published DOUBLE PRECISION
    );
    CREATE TABLE slots (
        hit_key TEXT NOT NULL REFERENCES hits (hit_key), slot BIGINT NOT NULL, name TEXT NOT NULL,
        pair_id BIGINT REFERENCES pairs (pair_id), gold_id BIGINT REFERENCES gold (gold_id),
        first_token TEXT NOT NULL, second_token TEXT NOT NULL,
        PRIMARY KEY (hit_key, slot)
    );
    CREATE INDEX slots_by_pair ON slots (pair_id);

    CREATE TABLE intents (
        token TEXT PRIMARY KEY, operation TEXT NOT NULL, target TEXT NOT NULL, subject TEXT NOT NULL,
        cents BIGINT NOT NULL, intended DOUBLE PRECISION NOT NULL,
        outcome TEXT, settled DOUBLE PRECISION
    );
    CREATE INDEX intents_by_subject ON intents (subject);
    CREATE INDEX intents_by_target ON intents (target, cents, outcome);

    CREATE TABLE assignments (
        assignment_id TEXT PRIMARY KEY,
        hit_key TEXT NOT NULL REFERENCES hits (hit_key), worker_id TEXT NOT NULL,
        accepted DOUBLE PRECISION, submitted DOUBLE PRECISION, collected DOUBLE PRECISION NOT NULL,
        answer TEXT NOT NULL, layout BIGINT NOT NULL, answered BIGINT NOT NULL,
        gold_right BIGINT NOT NULL, gold_missed BIGINT NOT NULL, seconds DOUBLE PRECISION NOT NULL,
        verdict TEXT NOT NULL, decision TEXT, pays_itself DOUBLE PRECISION
    );
    CREATE INDEX assignments_by_worker ON assignments (worker_id);
    CREATE INDEX assignments_by_hit ON assignments (hit_key);
    CREATE INDEX assignments_by_time ON assignments (submitted DESC, collected DESC, assignment_id);
    CREATE TABLE remarks (
        assignment_id TEXT NOT NULL REFERENCES assignments (assignment_id), slot BIGINT NOT NULL,
        pair_id BIGINT REFERENCES pairs (pair_id), unable TEXT NOT NULL, comment TEXT NOT NULL,
        PRIMARY KEY (assignment_id, slot)
    );

    CREATE TABLE judgments (
        judgment_id {serial},
        pair_id BIGINT NOT NULL REFERENCES pairs (pair_id),
        query_id TEXT NOT NULL, left_id TEXT NOT NULL, right_id TEXT NOT NULL,
        choice BIGINT NOT NULL, strength BIGINT NOT NULL, milliseconds BIGINT NOT NULL,
        worker_id TEXT NOT NULL, judge TEXT NOT NULL, phase TEXT NOT NULL,
        assignment_id TEXT NOT NULL REFERENCES assignments (assignment_id), vote_id TEXT,
        UNIQUE (assignment_id, pair_id)
    );
    CREATE INDEX judgments_by_pair ON judgments (pair_id);

    CREATE TABLE drops (
        judgment_id BIGINT PRIMARY KEY REFERENCES judgments (judgment_id),
        reason TEXT NOT NULL, dropped DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE barred (
        target TEXT NOT NULL, worker_id TEXT NOT NULL, reason TEXT NOT NULL, barred DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (target, worker_id)
    );
    CREATE TABLE allowances (
        target TEXT NOT NULL, worker_id TEXT NOT NULL, hits BIGINT NOT NULL, PRIMARY KEY (target, worker_id)
    );
    CREATE TABLE disputes (
        target TEXT PRIMARY KEY, waiting BIGINT NOT NULL, asked DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE imports (
        number BIGINT PRIMARY KEY,
        hit_key TEXT NOT NULL REFERENCES hits (hit_key),
        name TEXT NOT NULL, form TEXT NOT NULL, criterion TEXT NOT NULL, digest TEXT NOT NULL,
        judge TEXT NOT NULL, phase TEXT NOT NULL, sides BIGINT NOT NULL, mapped TEXT NOT NULL,
        votes BIGINT NOT NULL, imported DOUBLE PRECISION NOT NULL,
        UNIQUE (digest, criterion)
    );

    CREATE TABLE answers (
        version BIGINT NOT NULL, query_id TEXT NOT NULL, doc_id TEXT NOT NULL,
        PRIMARY KEY (version, query_id, doc_id)
    );
    CREATE TABLE challenges (
        challenge BIGINT PRIMARY KEY, strategy TEXT NOT NULL,
        started DOUBLE PRECISION NOT NULL, concluded DOUBLE PRECISION
    );
    CREATE TABLE challengers (
        challenge BIGINT NOT NULL REFERENCES challenges (challenge),
        query_id TEXT NOT NULL, doc_id TEXT NOT NULL, source TEXT NOT NULL,
        PRIMARY KEY (challenge, query_id, doc_id, source)
    );
    CREATE TABLE duels (
        challenge BIGINT NOT NULL REFERENCES challenges (challenge),
        query_id TEXT NOT NULL, incumbent TEXT NOT NULL, newcomer TEXT NOT NULL, brought_by TEXT NOT NULL,
        votes_for DOUBLE PRECISION NOT NULL, votes_against DOUBLE PRECISION NOT NULL,
        dethroned BIGINT NOT NULL, chance DOUBLE PRECISION,
        PRIMARY KEY (challenge, query_id, newcomer)
    );

    CREATE TABLE model_answers (
        prompt_key TEXT PRIMARY KEY, model TEXT NOT NULL, reply TEXT NOT NULL,
        prompt_tokens BIGINT NOT NULL, reply_tokens BIGINT NOT NULL, answered DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE model_votes (
        model TEXT NOT NULL, pair_id BIGINT NOT NULL REFERENCES pairs (pair_id),
        a_first BIGINT NOT NULL, b_first BIGINT NOT NULL, choice BIGINT NOT NULL,
        PRIMARY KEY (model, pair_id)
    );
    """,
    "ALTER TABLE passages ADD COLUMN shown TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE inputs ADD COLUMN place BIGINT NOT NULL DEFAULT 0",
    """
    ALTER TABLE inputs ADD COLUMN added DOUBLE PRECISION NOT NULL DEFAULT 0;
    ALTER TABLE pooled ADD COLUMN added DOUBLE PRECISION NOT NULL DEFAULT 0;
    ALTER TABLE copies ADD COLUMN added DOUBLE PRECISION NOT NULL DEFAULT 0;
    ALTER TABLE answers ADD COLUMN made DOUBLE PRECISION NOT NULL DEFAULT 0;
    UPDATE answers SET made =
        coalesce((SELECT concluded FROM challenges WHERE challenge = answers.version - 1), 0);
    CREATE TABLE former_answers (
        version BIGINT NOT NULL, query_id TEXT NOT NULL, doc_id TEXT NOT NULL,
        made DOUBLE PRECISION NOT NULL, gone DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE former_pooled (
        query_id TEXT NOT NULL, doc_id TEXT NOT NULL, source TEXT NOT NULL,
        added DOUBLE PRECISION NOT NULL, gone DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE former_drops (
        judgment_id BIGINT NOT NULL, reason TEXT NOT NULL,
        dropped DOUBLE PRECISION NOT NULL, gone DOUBLE PRECISION NOT NULL
    );
    CREATE TABLE resolved (made DOUBLE PRECISION PRIMARY KEY, how TEXT NOT NULL);
    INSERT INTO resolved (made, how) SELECT 0, value FROM settings WHERE key = 'resolved';
    DELETE FROM settings WHERE key = 'resolved'
    """,
    "ALTER TABLE judgments ADD COLUMN shown TEXT NOT NULL DEFAULT ''",
    """
    CREATE TABLE former_inputs (
        kind TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, name TEXT NOT NULL,
        place BIGINT NOT NULL, added DOUBLE PRECISION NOT NULL, gone DOUBLE PRECISION NOT NULL
    )
    """,
]


def views_of(until: float) -> tuple[str, ...]:
    """Return what a study's tables held at a time, as views: what came later is left out."""
    here = f"AS SELECT * FROM {{main}}%s WHERE %s <= {until!r}"
    dated = {"copies": "added", "hits": "published", "barred": "barred"}
    dated |= {"imports": "imported", "assignments": "collected", "resolved": "made"}
    known = "EXISTS (SELECT 1 FROM pooled c WHERE c.query_id = p.query_id AND c.doc_id = p.doc_%s UNION ALL "
    known += "SELECT 1 FROM challengers c WHERE c.query_id = p.query_id AND c.doc_id = p.doc_%s)"
    began = f"IN (SELECT challenge FROM {{main}}challenges WHERE %s <= {until!r})"
    return (
        *(f"{table} {here % (table, column)}" for table, column in dated.items()),
        f"judgments AS SELECT * FROM {{main}}judgments WHERE assignment_id IN "
        f"(SELECT assignment_id FROM {{main}}assignments WHERE collected <= {until!r})",
        *(
            f"{table} AS SELECT {columns}, {since} FROM {{main}}{table} WHERE {since} <= {until!r} UNION ALL "
            f"SELECT {columns}, {since} FROM {{main}}former_{table} WHERE {since} <= {until!r} "
            f"AND gone > {until!r}"
            for table, columns, since in (
                ("inputs", "kind, path, digest, name, place", "added"),
                ("pooled", "query_id, doc_id, source", "added"),
                ("drops", "judgment_id, reason", "dropped"),
                ("answers", "version, query_id, doc_id", "made"),
            )
        ),
        f"challenges AS SELECT challenge, strategy, started, "
        f"CASE WHEN concluded <= {until!r} THEN concluded END AS concluded "
        f"FROM {{main}}challenges WHERE started <= {until!r}",
        f"challengers AS SELECT * FROM {{main}}challengers WHERE challenge {began % 'started'}",
        f"duels AS SELECT * FROM {{main}}duels WHERE challenge {began % 'concluded'}",
        f"settings AS SELECT * FROM {{main}}settings WHERE key NOT IN ('strategy', 'strategy model') OR "
        f"NOT EXISTS (SELECT 1 FROM {{main}}settings WHERE key = '{DRIVEN_SINCE}' "
        f"AND CAST(value AS DOUBLE PRECISION) > {until!r})",
        # It is not kept when pairs were asked for: those of HITs were, where there are later ones.
        f"pairs AS SELECT pair_id, query_id, doc_a, doc_b, CASE WHEN NOT EXISTS (SELECT 1 FROM {{main}}hits "
        f"WHERE published > {until!r} AND target <> '{IMPORTED}') THEN votes WHEN pair_id IN "
        f"(SELECT pair_id FROM {{main}}slots JOIN {{main}}hits USING (hit_key) WHERE published <= {until!r} "
        "AND pair_id IS NOT NULL) THEN CASE WHEN votes > 0 THEN votes ELSE 1 END ELSE 0 END AS votes "
        f"FROM {{main}}pairs AS p WHERE {' AND '.join(known % (side, side) for side in 'ab')}",
    )


DELETED_FILE = "deleted-hits.txt"
"""The ids of HITs that were deleted after their judgment: a marketplace no longer lists them."""
_PAST = (
    DELETED_FILE,
    "pages",
    "preference.qrels",
    "preference.rehearsal.txt",
    "leaderboard.csv",
    "leaderboard.rehearsal.txt",
    "leaderboard.provenance.json",
    "winratio.csv",
    "report.html",
    "release",
)


def refuse_lost(folder: Path, database: Database) -> None:
    """Refuse to start over where a study was published: everything would be published and paid again."""
    # Before anything is published there is nothing to lose: a missing store is made.
    if database.version():
        return
    file = file_of(database.url)
    lock = [] if file is None else [Path(f"{file}.lock")]  # made by every verb that spends
    signs = [path.name for path in (*lock, *(folder / name for name in _PAST)) if path.exists()]
    if signs:
        raise StudyError(
            f"the study's store {redacted(database.url)} is missing or empty, but the study was published: "
            f"its folder holds {', '.join(signs)}",
            "Restore a backup of the store (docs/backup.md), or run: "
            f"prefjudge store recover {quoted(folder)}; it asks the marketplace.",
        )


def note_deleted(folder: Path, hit_id: str) -> None:
    """Note the id of a HIT that is about to be deleted, once."""
    path = folder / DELETED_FILE
    if hit_id in load_deleted(folder):
        return
    with path.open("a", encoding="ascii") as file:
        file.write(f"\n{hit_id}\n")  # an earlier line may have been cut off
        file.flush()
        os.fsync(file.fileno())


def load_deleted(folder: Path) -> tuple[str, ...]:
    """Return the ids of the HITs that were, or were about to be, deleted."""
    path = folder / DELETED_FILE
    return tuple(path.read_text(encoding="ascii", errors="replace").split()) if path.exists() else ()


# Which of the study's work counts: the sandbox's, until HITs are published live; then only the live work.
#
# From then on the work in the sandbox is a rehearsal: its judgments, gold records, barred workers and play
# money stay in the store but no longer count, and the answers found there are deleted.

SANDBOX = "sandbox"
LIVE = "live"
IMPORTED = "imported"
"""Where votes that were collected elsewhere stand: at no marketplace, and they count whatever the target."""
WORK = "assignments a JOIN hits h USING (hit_key)"
"""Each assignment with its HIT, for statements."""
VOTES = (
    "judgments j JOIN assignments a USING (assignment_id) JOIN hits h USING (hit_key) "
    "LEFT JOIN drops d USING (judgment_id)"
)
"""Each judgment with its assignment, its HIT, and its drop where it does not count."""
COUNTED = f"h.target IN (:target, '{IMPORTED}')"
"""The condition on the HITs of the work that counts, at a target."""
SHOWN = """(
    SELECT judgment_id, pair_id, worker_id, assignment_id FROM judgments
    UNION ALL
    SELECT c.judgment_id, t.pair_id, c.worker_id, c.assignment_id
    FROM judgments c JOIN judgments m
    ON m.query_id = c.query_id AND m.shown = c.shown AND m.assignment_id || '' = c.assignment_id
    JOIN pairs t ON t.query_id = c.query_id
    AND t.doc_a = CASE WHEN c.choice > 0 THEN c.right_id ELSE c.left_id END
    AND t.doc_b = CASE WHEN m.choice > 0 THEN m.right_id ELSE m.left_id END
    WHERE c.shown <> ''
)"""
"""Each judgment, and each pair that a choice has shown and chosen neither of, as if it were a win of it."""
# SQLite would look for the other wins of a choice among all votes of its assignment, but for the || there.
SHOWN_VOTES = VOTES.replace("judgments j", f"{SHOWN} j")
JUDGES = "count(DISTINCT CASE WHEN j.worker_id = '' THEN j.assignment_id ELSE j.worker_id END)"
"""How many judges a pair has: where an imported file names no worker, each vote is another's."""


def choose_target(*, sandbox: bool, live: bool) -> str:
    """Return the target that a verb was told to use; ``live`` has precedence over ``sandbox``."""
    if not (sandbox or live):
        raise ConfigError("say where to publish", "Add --sandbox (play money) or --live (real money).")
    return LIVE if live else SANDBOX


def current_target(db: Connection) -> str:
    """Return the target whose work is the study's."""
    return LIVE if db.execute("SELECT 1 FROM hits WHERE target = :live LIMIT 1", live=LIVE) else SANDBOX


def find_target(study: "Study") -> str:
    """Return the target whose work is the study's, in a transaction of its own."""
    with study.transaction(write=False) as db:
        return current_target(db)


def advised(study: "Study", verb: str) -> str:
    """Return the command of a verb for a study, at the target whose work is the study's."""
    return command(verb, study.folder, meant_target(study))


def meant_target(study: "Study") -> str:
    """Return the target whose work is, or will be, the study's: the live one where there is no sandbox."""
    target, config = find_target(study), study.config
    return LIVE if config.target(LIVE) and not config.target(SANDBOX) else target


def command(verb: str, folder: "str | Path", target: str) -> str:
    """Return the command of a verb that takes ``--live``, as a shell takes it."""
    where = " --live" if target == LIVE else " --sandbox" * (verb in ("publish", "run"))
    return f"prefjudge {verb} {quoted(folder)}{where}"


def load_published_targets(db: Connection) -> frozenset[str]:
    """Return the targets at which the study has HITs."""
    return frozenset(
        db.values("SELECT DISTINCT target FROM hits WHERE target <> :imported", imported=IMPORTED)
    )


def refuse_other_target(db: Connection, target: str) -> None:
    """Refuse to go back to the sandbox, and to challenge live the answers that were found there."""
    if not _leaves(db, target):
        return
    if target == SANDBOX:
        raise StudyError(
            "the study is live, and its rehearsal in the sandbox is over",
            "Add --live, or rehearse in another study.",
        )
    if db.execute("SELECT 1 FROM challenges LIMIT 1"):
        raise StudyError(
            "the study's challenge compares newcomers with answers that were found in the sandbox",
            "Continue without --live, or make a new study to judge live from the start.",
        )


def forget_rounds(db: Connection, target: str) -> None:
    """Let `run` start over at a new target, without the votes that its rounds asked for elsewhere."""
    if target != current_target(db):
        db.execute("UPDATE pairs SET votes = 0")


def forget_answers(db: Connection, target: str) -> None:
    """Delete the answers that were found at another target, when the first HIT is published at this one."""
    # Call this before the HIT is saved: from then on the current target is the new one.
    if _leaves(db, target):
        end(db, "answers", "version >= 0", time.time())


def end(db: Connection, table: str, which: str, when: float, **values: Value) -> None:
    """Take rows out of a table, which keeps beside it what held until then."""
    columns = {"answers": "version, query_id, doc_id, made", "drops": "judgment_id, reason, dropped"}[table]
    db.execute(
        f"INSERT INTO former_{table} ({columns}, gone) SELECT {columns}, :gone FROM {table} WHERE {which}",
        {"gone": when, **values},
    )
    db.execute(f"DELETE FROM {table} WHERE {which}", values)


def _leaves(db: Connection, target: str) -> bool:
    """Return whether work at a target would leave other work behind, as a rehearsal."""
    current = current_target(db)
    return target != current and current in load_published_targets(db)


def live_since(db: Connection) -> float:
    """Return when the first HIT was published at the live target; 0 where none is."""
    return float(db.value("SELECT min(published) FROM hits WHERE target = :live", live=LIVE) or 0)


# The random numbers of a verb: from the study's streams, or from a seed.

DEFAULT_SEED = 2021
"""The seed of what is drawn on plain files; a study has its own."""


def generator(study: Study | None, stream: str, seed: int | None = None) -> "np.random.Generator":
    """Return a generator of the seed given, else the study's stream of that name."""
    import numpy as np

    if seed is None and study is not None:
        return study.rng(stream)
    return np.random.default_rng(DEFAULT_SEED if seed is None else seed)


def seed_words(study: Study | None, seed: int | None) -> str:
    """Return the seed that `generator` takes, in words."""
    own = seed is None and study is not None
    return "the study's" if own else str(DEFAULT_SEED if seed is None else seed)
