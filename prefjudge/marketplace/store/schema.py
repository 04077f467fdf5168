"""The marketplace's tables. A change is a new step at the end; a step that was released never changes.

Times are epoch seconds, money is whole cents, flags are 0 or 1.
"""

_FIRST = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE requesters (
    requester_id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hook_secret TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL);
CREATE TABLE access_keys (
    access_key TEXT PRIMARY KEY, secret TEXT NOT NULL, requester_id TEXT NOT NULL REFERENCES requesters,
    created DOUBLE PRECISION NOT NULL);

CREATE TABLE accounts (account TEXT PRIMARY KEY, cents BIGINT NOT NULL);
CREATE TABLE transfers (
    transfer_id {serial}, time DOUBLE PRECISION NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
    cents BIGINT NOT NULL CHECK (cents > 0), kind TEXT NOT NULL, reference TEXT NOT NULL);
CREATE INDEX transfers_target ON transfers (target, kind);
CREATE TABLE request_tokens (
    requester_id TEXT NOT NULL, kind TEXT NOT NULL, token TEXT NOT NULL, result TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL, PRIMARY KEY (requester_id, kind, token));

CREATE INDEX request_tokens_created ON request_tokens (created);
CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY, name TEXT UNIQUE, password_hash TEXT, locale TEXT NOT NULL,
    approved BIGINT NOT NULL, rejected BIGINT NOT NULL, created DOUBLE PRECISION NOT NULL);
CREATE TABLE sessions (
    session_hash TEXT PRIMARY KEY, worker_id TEXT NOT NULL REFERENCES workers,
    created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL);
CREATE INDEX sessions_expires ON sessions (expires);
CREATE TABLE panels (
    panel TEXT PRIMARY KEY, key_hash TEXT NOT NULL, participant TEXT NOT NULL, study TEXT NOT NULL,
    session TEXT NOT NULL, locale TEXT NOT NULL, completion TEXT NOT NULL, created DOUBLE PRECISION NOT NULL);
CREATE TABLE panel_workers (
    panel TEXT NOT NULL, participant TEXT NOT NULL, worker_id TEXT NOT NULL UNIQUE REFERENCES workers,
    study TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY (panel, participant));
CREATE TABLE messages (
    message_id {serial}, worker_id TEXT NOT NULL, requester_id TEXT NOT NULL, subject TEXT NOT NULL,
    body TEXT NOT NULL, sent DOUBLE PRECISION NOT NULL, is_read BIGINT NOT NULL DEFAULT 0);
CREATE INDEX messages_worker ON messages (worker_id, message_id);

CREATE TABLE hit_types (
    hit_type_id TEXT PRIMARY KEY, requester_id TEXT NOT NULL REFERENCES requesters, fingerprint TEXT NOT NULL,
    title TEXT NOT NULL, description TEXT NOT NULL, keywords TEXT, reward BIGINT NOT NULL,
    duration BIGINT NOT NULL, auto_approval_delay BIGINT NOT NULL, requirements TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL, UNIQUE (requester_id, fingerprint));
CREATE TABLE hits (
    seq {serial}, hit_id TEXT NOT NULL UNIQUE, requester_id TEXT NOT NULL REFERENCES requesters,
    hit_type_id TEXT NOT NULL REFERENCES hit_types, kind TEXT NOT NULL, height BIGINT NOT NULL, address TEXT,
    annotation TEXT, created DOUBLE PRECISION NOT NULL, expiration DOUBLE PRECISION NOT NULL,
    max_assignments BIGINT NOT NULL, first_max BIGINT NOT NULL, available BIGINT NOT NULL,
    pending BIGINT NOT NULL DEFAULT 0, submitted BIGINT NOT NULL DEFAULT 0,
    completed BIGINT NOT NULL DEFAULT 0,
    held BIGINT NOT NULL, reviewing BIGINT NOT NULL DEFAULT 0, disposed BIGINT NOT NULL DEFAULT 0,
    told_expired BIGINT NOT NULL DEFAULT 0, told_reviewable BIGINT NOT NULL DEFAULT 0);
CREATE TABLE questions (hit_id TEXT PRIMARY KEY REFERENCES hits (hit_id), content TEXT NOT NULL);
CREATE INDEX hits_requester ON hits (requester_id, seq);
CREATE INDEX hits_open ON hits (hit_type_id, seq) WHERE available > 0 AND disposed = 0;
CREATE INDEX hits_expiring ON hits (expiration) WHERE told_expired = 0 AND disposed = 0;
CREATE INDEX hits_old ON hits (expiration) WHERE disposed = 0;
CREATE TABLE assignments (
    seq {serial}, assignment_id TEXT NOT NULL UNIQUE, hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    requester_id TEXT NOT NULL, worker_id TEXT NOT NULL REFERENCES workers, status TEXT NOT NULL,
    accepted_at DOUBLE PRECISION NOT NULL, deadline DOUBLE PRECISION NOT NULL,
    submitted_at DOUBLE PRECISION, auto_approve_at DOUBLE PRECISION, approved_at DOUBLE PRECISION,
    rejected_at DOUBLE PRECISION, ended_at DOUBLE PRECISION, answer TEXT, feedback TEXT, draft TEXT,
    visible_ms BIGINT, visible_pairs BIGINT);
CREATE UNIQUE INDEX assignments_once ON assignments (hit_id, worker_id)
    WHERE status IN ('Accepted', 'Submitted', 'Approved', 'Rejected');
CREATE INDEX assignments_hit ON assignments (hit_id, seq);
CREATE INDEX assignments_worker ON assignments (worker_id, seq);
CREATE INDEX assignments_held ON assignments (worker_id) WHERE status = 'Accepted';
CREATE INDEX assignments_deadline ON assignments (deadline) WHERE status = 'Accepted';
CREATE INDEX assignments_auto ON assignments (auto_approve_at) WHERE status = 'Submitted';
CREATE TABLE bonuses (
    seq {serial}, requester_id TEXT NOT NULL, hit_id TEXT NOT NULL, assignment_id TEXT NOT NULL,
    worker_id TEXT NOT NULL, cents BIGINT NOT NULL, reason TEXT NOT NULL, granted DOUBLE PRECISION NOT NULL);
CREATE INDEX bonuses_assignment ON bonuses (assignment_id);
CREATE INDEX bonuses_hit ON bonuses (hit_id);
CREATE TABLE blocks (
    seq {serial}, requester_id TEXT NOT NULL, worker_id TEXT NOT NULL, reason TEXT NOT NULL,
    UNIQUE (requester_id, worker_id));

CREATE TABLE qualification_types (
    seq {serial}, qualification_type_id TEXT NOT NULL UNIQUE,
    requester_id TEXT NOT NULL REFERENCES requesters,
    name TEXT NOT NULL, description TEXT NOT NULL, keywords TEXT, status TEXT NOT NULL, test TEXT,
    test_duration BIGINT, answer_key TEXT, retry_delay BIGINT, auto_granted BIGINT NOT NULL,
    auto_value BIGINT NOT NULL, created DOUBLE PRECISION NOT NULL, deleted BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX qualification_types_name ON qualification_types (requester_id, name) WHERE deleted = 0;
CREATE TABLE qualifications (
    seq {serial}, qualification_type_id TEXT NOT NULL, worker_id TEXT NOT NULL, value BIGINT,
    granted DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, reason TEXT,
    UNIQUE (qualification_type_id, worker_id));
CREATE INDEX qualifications_worker ON qualifications (worker_id);
CREATE TABLE qualification_requests (
    seq {serial}, request_id TEXT NOT NULL UNIQUE, qualification_type_id TEXT NOT NULL,
    requester_id TEXT NOT NULL, worker_id TEXT NOT NULL, status TEXT NOT NULL, answer TEXT,
    started DOUBLE PRECISION NOT NULL, submitted_at DOUBLE PRECISION, reason TEXT);
CREATE INDEX qualification_requests_worker ON qualification_requests (worker_id, qualification_type_id);

CREATE TABLE notifications (
    hit_type_id TEXT PRIMARY KEY, destination TEXT NOT NULL, transport TEXT NOT NULL, version TEXT NOT NULL,
    event_types TEXT NOT NULL, active BIGINT NOT NULL);
CREATE TABLE events (
    seq {serial}, time DOUBLE PRECISION NOT NULL, event TEXT NOT NULL, requester_id TEXT NOT NULL,
    hit_type_id TEXT NOT NULL, hit_id TEXT NOT NULL, assignment_id TEXT, worker_id TEXT);
CREATE TABLE deliveries (
    seq {serial}, destination TEXT NOT NULL, secret TEXT NOT NULL, body TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0, due DOUBLE PRECISION NOT NULL, done BIGINT NOT NULL DEFAULT 0);
CREATE INDEX deliveries_due ON deliveries (due) WHERE done = 0;
"""

# earlier stores did not say whether their money is real; a sandbox gives this much to each new requester
_MONEY = """
INSERT INTO settings (name, value) SELECT 'money', 'play' WHERE EXISTS (
    SELECT 1 FROM transfers WHERE source = 'outside' AND cents = 1000000)
"""

_SIGNED_PANELS = "ALTER TABLE panels ADD COLUMN signed BIGINT NOT NULL DEFAULT 0"

_REVOCATION = """
ALTER TABLE workers ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
CREATE TABLE admin_sessions (session_hash TEXT PRIMARY KEY, expires DOUBLE PRECISION NOT NULL)
"""

# the reward that a worker accepted: the HIT may get another HIT type, and so another reward, later
_REWARD = """
ALTER TABLE assignments ADD COLUMN reward BIGINT NOT NULL DEFAULT 0;
UPDATE assignments SET reward = (SELECT t.reward FROM hits h JOIN hit_types t ON t.hit_type_id = h.hit_type_id
    WHERE h.hit_id = assignments.hit_id)
"""

# the accounts that `prefjudge work` made before accounts were marked as simulated
_SIMULATED = """
INSERT INTO qualifications (qualification_type_id, worker_id, value, granted, status)
    SELECT '00000000000000000SIM', worker_id, 1, created, 'Granted' FROM workers
    WHERE name LIKE 'simulated _%' AND trim(substr(name, 11), '0123456789') = '' AND password_hash IS NULL
    AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'money' AND value = 'real')
"""

_SUBMISSIONS = """
CREATE INDEX events_submitted ON events (requester_id, seq) WHERE event = 'AssignmentSubmitted'
"""

# what a worker has read and agreed to in a requester's pages, by the name that the page gives it
_AGREEMENTS = """
CREATE TABLE agreements (
    worker_id TEXT NOT NULL REFERENCES workers, requester_id TEXT NOT NULL, page TEXT NOT NULL,
    agreed DOUBLE PRECISION NOT NULL, PRIMARY KEY (worker_id, requester_id, page))
"""

# what a page said that it pays a worker who stops early, and which tab wrote the draft
_EXPECTED = """
ALTER TABLE assignments ADD COLUMN expected BIGINT;
ALTER TABLE assignments ADD COLUMN draft_tab TEXT;
CREATE INDEX assignments_recent ON assignments (worker_id, submitted_at) WHERE submitted_at IS NOT NULL
"""

_DISPUTES = """
ALTER TABLE assignments ADD COLUMN dispute TEXT;
ALTER TABLE assignments ADD COLUMN disputed_at DOUBLE PRECISION;
ALTER TABLE assignments ADD COLUMN dispute_answer TEXT;
CREATE INDEX assignments_disputed ON assignments (disputed_at) WHERE dispute IS NOT NULL
"""

# those who administer by a name and a password, and what everybody who administers did
_ADMINS = """
CREATE TABLE admins (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, password_hash TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL);
ALTER TABLE admin_sessions ADD COLUMN name TEXT;
CREATE TABLE admin_log (
    seq {serial}, time DOUBLE PRECISION NOT NULL, admin TEXT NOT NULL, act TEXT NOT NULL,
    about TEXT NOT NULL, status BIGINT)
"""

# Before, a participant could work on after each code, so that a visit had no number of HITs.
_VISITS = """
ALTER TABLE panels ADD COLUMN hits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE panels ADD COLUMN reward BIGINT NOT NULL DEFAULT 0;
ALTER TABLE panels ADD COLUMN confirm BIGINT NOT NULL DEFAULT 0;
ALTER TABLE panels ADD COLUMN keys TEXT NOT NULL DEFAULT '';
ALTER TABLE panels ADD COLUMN closed DOUBLE PRECISION;
CREATE TABLE visits (
    visit {serial}, panel TEXT NOT NULL REFERENCES panels, participant TEXT NOT NULL, study TEXT NOT NULL,
    session TEXT NOT NULL, worker_id TEXT NOT NULL REFERENCES workers, arrived DOUBLE PRECISION NOT NULL,
    confirmed BIGINT NOT NULL, outcome TEXT, ended DOUBLE PRECISION,
    paid DOUBLE PRECISION, UNIQUE (panel, participant, session));
CREATE INDEX visits_worker ON visits (worker_id);
INSERT INTO visits (panel, participant, study, session, worker_id, arrived, confirmed)
    SELECT p.panel, p.participant, p.study, p.session, p.worker_id, w.created, 1
    FROM panel_workers p JOIN workers w ON w.worker_id = p.worker_id;
ALTER TABLE panel_workers DROP COLUMN study;
ALTER TABLE panel_workers DROP COLUMN session;
ALTER TABLE sessions ADD COLUMN visit BIGINT;
ALTER TABLE assignments ADD COLUMN visit BIGINT;
UPDATE assignments SET visit = (SELECT v.visit FROM visits v WHERE v.worker_id = assignments.worker_id);
CREATE INDEX assignments_visit ON assignments (visit) WHERE visit IS NOT NULL;
DROP INDEX assignments_once;
CREATE UNIQUE INDEX assignments_once ON assignments (hit_id, worker_id)
    WHERE status IN ('Accepted', 'Unconfirmed', 'Submitted', 'Approved', 'Rejected')
"""

# when the person behind a worker id was forgotten
_FORGOTTEN = "ALTER TABLE workers ADD COLUMN forgotten DOUBLE PRECISION"

# topics that notifications are sent to, and who subscribed to them
_TOPICS = """
CREATE TABLE topics (topic_arn TEXT PRIMARY KEY, requester_id TEXT NOT NULL REFERENCES requesters);
CREATE INDEX topics_requester ON topics (requester_id, topic_arn);
CREATE TABLE subscriptions (
    subscription_arn TEXT PRIMARY KEY, topic_arn TEXT NOT NULL, protocol TEXT NOT NULL,
    endpoint TEXT NOT NULL, token TEXT NOT NULL, confirmed BIGINT NOT NULL DEFAULT 0);
CREATE INDEX subscriptions_topic ON subscriptions (topic_arn)
"""

# of which requester a panel's people see the HITs; empty: of all
_ONE_REQUESTER = "ALTER TABLE panels ADD COLUMN requester TEXT NOT NULL DEFAULT ''"

# The same by worker first: what a worker has had is then counted without reading the answers beside it.
_ONCE_BY_WORKER = """
DROP INDEX assignments_once;
CREATE UNIQUE INDEX assignments_once ON assignments (worker_id, hit_id)
    WHERE status IN ('Accepted', 'Unconfirmed', 'Submitted', 'Approved', 'Rejected')
"""

STEPS = (
    _FIRST, _MONEY, _SIGNED_PANELS, _REVOCATION, _REWARD, _SIMULATED, _SUBMISSIONS, _AGREEMENTS, _EXPECTED,
    _DISPUTES, _ADMINS, _VISITS, _FORGOTTEN, _TOPICS, _ONE_REQUESTER,
    _ONCE_BY_WORKER,
)  # fmt: skip
