"""The marketplace's tables. A change is a new step at the end; a step that was released never changes.

Times are epoch seconds, money is whole cents, flags are 0 or 1.
"""

# An assignment's `reward` is the one that its worker accepted, as the HIT may get another HIT type later, and
# `expected` what its page said that stopping early pays. A panel's `requester` is whose HITs its people see;
# empty: everybody's. `agreements` are to a requester's pages, by the names that the pages give themselves.
_FIRST = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE requesters (
    requester_id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, created DOUBLE PRECISION NOT NULL);
CREATE TABLE access_keys (
    access_key TEXT PRIMARY KEY, secret TEXT NOT NULL, requester_id TEXT NOT NULL REFERENCES requesters,
    created DOUBLE PRECISION NOT NULL);
CREATE TABLE accounts (account TEXT PRIMARY KEY, cents BIGINT NOT NULL);
CREATE TABLE transfers (
    transfer_id {serial}, time DOUBLE PRECISION NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
    cents BIGINT NOT NULL CHECK (cents > 0), kind TEXT NOT NULL, reference TEXT NOT NULL);
CREATE INDEX transfers_target ON transfers (target, kind);
CREATE TABLE request_tokens (
    requester_id TEXT NOT NULL, kind TEXT NOT NULL, token TEXT NOT NULL, result TEXT NOT NULL, created
    DOUBLE PRECISION NOT NULL, PRIMARY KEY (requester_id, kind, token));
CREATE INDEX request_tokens_created ON request_tokens (created);
CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY, name TEXT UNIQUE, password_hash TEXT, locale TEXT NOT NULL, approved
    BIGINT NOT NULL, rejected BIGINT NOT NULL, created DOUBLE PRECISION NOT NULL, epoch BIGINT NOT NULL
    DEFAULT 0, forgotten DOUBLE PRECISION);
CREATE TABLE sessions (
    session_hash TEXT PRIMARY KEY, worker_id TEXT NOT NULL REFERENCES workers, created DOUBLE PRECISION
    NOT NULL, expires DOUBLE PRECISION NOT NULL, visit BIGINT);
CREATE INDEX sessions_expires ON sessions (expires);
CREATE TABLE panels (
    panel TEXT PRIMARY KEY, key_hash TEXT NOT NULL, participant TEXT NOT NULL, study TEXT NOT NULL,
    session TEXT NOT NULL, locale TEXT NOT NULL, completion TEXT NOT NULL, created DOUBLE PRECISION NOT
    NULL, signed BIGINT NOT NULL DEFAULT 0, hits BIGINT NOT NULL DEFAULT 0, reward BIGINT NOT NULL
    DEFAULT 0, confirm BIGINT NOT NULL DEFAULT 0, keys TEXT NOT NULL DEFAULT '', closed DOUBLE
    PRECISION, requester TEXT NOT NULL DEFAULT '');
CREATE TABLE panel_workers (
    panel TEXT NOT NULL, participant TEXT NOT NULL, worker_id TEXT NOT NULL UNIQUE REFERENCES workers,
    PRIMARY KEY (panel, participant));
CREATE TABLE visits (
    visit {serial}, panel TEXT NOT NULL REFERENCES panels, participant TEXT NOT NULL, study TEXT NOT
    NULL, session TEXT NOT NULL, worker_id TEXT NOT NULL REFERENCES workers, arrived DOUBLE PRECISION
    NOT NULL, confirmed BIGINT NOT NULL, outcome TEXT, ended DOUBLE PRECISION, paid DOUBLE PRECISION,
    UNIQUE (panel, participant, session));
CREATE INDEX visits_worker ON visits (worker_id);
CREATE TABLE messages (
    message_id {serial}, worker_id TEXT NOT NULL, requester_id TEXT NOT NULL, subject TEXT NOT NULL,
    body TEXT NOT NULL, sent DOUBLE PRECISION NOT NULL, is_read BIGINT NOT NULL DEFAULT 0);
CREATE INDEX messages_worker ON messages (worker_id, message_id);
CREATE TABLE hit_types (
    hit_type_id TEXT PRIMARY KEY, requester_id TEXT NOT NULL REFERENCES requesters, fingerprint TEXT NOT
    NULL, title TEXT NOT NULL, description TEXT NOT NULL, keywords TEXT, reward BIGINT NOT NULL,
    duration BIGINT NOT NULL, auto_approval_delay BIGINT NOT NULL, requirements TEXT NOT NULL, created
    DOUBLE PRECISION NOT NULL, UNIQUE (requester_id, fingerprint));
CREATE TABLE hits (
    seq {serial}, hit_id TEXT NOT NULL UNIQUE, requester_id TEXT NOT NULL REFERENCES requesters,
    hit_type_id TEXT NOT NULL REFERENCES hit_types, kind TEXT NOT NULL, height BIGINT NOT NULL, address
    TEXT, annotation TEXT, created DOUBLE PRECISION NOT NULL, expiration DOUBLE PRECISION NOT NULL,
    max_assignments BIGINT NOT NULL, first_max BIGINT NOT NULL, available BIGINT NOT NULL, pending
    BIGINT NOT NULL DEFAULT 0, submitted BIGINT NOT NULL DEFAULT 0, completed BIGINT NOT NULL DEFAULT 0,
    held BIGINT NOT NULL, reviewing BIGINT NOT NULL DEFAULT 0, disposed BIGINT NOT NULL DEFAULT 0,
    told_expired BIGINT NOT NULL DEFAULT 0, told_reviewable BIGINT NOT NULL DEFAULT 0);
CREATE INDEX hits_requester ON hits (requester_id, seq);
CREATE INDEX hits_open ON hits (hit_type_id, seq) WHERE available > 0 AND disposed = 0;
CREATE INDEX hits_expiring ON hits (expiration) WHERE told_expired = 0 AND disposed = 0;
CREATE INDEX hits_old ON hits (expiration) WHERE disposed = 0;
CREATE TABLE questions (hit_id TEXT PRIMARY KEY REFERENCES hits (hit_id), content TEXT NOT NULL);
CREATE TABLE assignments (
    seq {serial}, assignment_id TEXT NOT NULL UNIQUE, hit_id TEXT NOT NULL REFERENCES hits (hit_id),
    requester_id TEXT NOT NULL, worker_id TEXT NOT NULL REFERENCES workers, status TEXT NOT NULL,
    accepted_at DOUBLE PRECISION NOT NULL, deadline DOUBLE PRECISION NOT NULL, submitted_at DOUBLE
    PRECISION, auto_approve_at DOUBLE PRECISION, approved_at DOUBLE PRECISION, rejected_at DOUBLE
    PRECISION, ended_at DOUBLE PRECISION, answer TEXT, feedback TEXT, draft TEXT, visible_ms BIGINT,
    visible_pairs BIGINT, reward BIGINT NOT NULL, expected BIGINT, draft_tab TEXT, dispute TEXT,
    disputed_at DOUBLE PRECISION, dispute_answer TEXT, visit BIGINT);
CREATE INDEX assignments_hit ON assignments (hit_id, seq);
CREATE INDEX assignments_worker ON assignments (worker_id, seq);
CREATE INDEX assignments_held ON assignments (worker_id) WHERE status = 'Accepted';
CREATE INDEX assignments_deadline ON assignments (deadline) WHERE status = 'Accepted';
CREATE INDEX assignments_auto ON assignments (auto_approve_at) WHERE status = 'Submitted';
CREATE INDEX assignments_recent ON assignments (worker_id, submitted_at) WHERE submitted_at IS NOT NULL;
CREATE INDEX assignments_disputed ON assignments (disputed_at) WHERE dispute IS NOT NULL;
CREATE INDEX assignments_visit ON assignments (visit) WHERE visit IS NOT NULL;
CREATE UNIQUE INDEX assignments_once ON assignments (worker_id, hit_id) WHERE status IN ('Accepted',
    'Unconfirmed', 'Submitted', 'Approved', 'Rejected');
CREATE TABLE bonuses (
    seq {serial}, requester_id TEXT NOT NULL, hit_id TEXT NOT NULL, assignment_id TEXT NOT NULL,
    worker_id TEXT NOT NULL, cents BIGINT NOT NULL, reason TEXT NOT NULL, granted DOUBLE PRECISION NOT
    NULL);
CREATE INDEX bonuses_assignment ON bonuses (assignment_id);
CREATE INDEX bonuses_hit ON bonuses (hit_id);
CREATE TABLE blocks (
    seq {serial}, requester_id TEXT NOT NULL, worker_id TEXT NOT NULL, reason TEXT NOT NULL, UNIQUE
    (requester_id, worker_id));
CREATE TABLE qualification_types (
    seq {serial}, qualification_type_id TEXT NOT NULL UNIQUE, requester_id TEXT NOT NULL REFERENCES
    requesters, name TEXT NOT NULL, description TEXT NOT NULL, keywords TEXT, status TEXT NOT NULL, test
    TEXT, test_duration BIGINT, answer_key TEXT, retry_delay BIGINT, auto_granted BIGINT NOT NULL,
    auto_value BIGINT NOT NULL, created DOUBLE PRECISION NOT NULL, deleted BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX qualification_types_name ON qualification_types (requester_id, name) WHERE deleted = 0;
CREATE TABLE qualifications (
    seq {serial}, qualification_type_id TEXT NOT NULL, worker_id TEXT NOT NULL, value BIGINT, granted
    DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, reason TEXT, UNIQUE (qualification_type_id,
    worker_id));
CREATE INDEX qualifications_worker ON qualifications (worker_id);
CREATE TABLE qualification_requests (
    seq {serial}, request_id TEXT NOT NULL UNIQUE, qualification_type_id TEXT NOT NULL, requester_id
    TEXT NOT NULL, worker_id TEXT NOT NULL, status TEXT NOT NULL, answer TEXT, started DOUBLE PRECISION
    NOT NULL, submitted_at DOUBLE PRECISION, reason TEXT);
CREATE INDEX qualification_requests_worker ON qualification_requests (worker_id, qualification_type_id);
CREATE TABLE events (
    seq {serial}, time DOUBLE PRECISION NOT NULL, event TEXT NOT NULL, requester_id TEXT NOT NULL,
    hit_type_id TEXT NOT NULL, hit_id TEXT NOT NULL, assignment_id TEXT, worker_id TEXT);
CREATE INDEX events_submitted ON events (requester_id, seq) WHERE event = 'AssignmentSubmitted';
CREATE TABLE admin_sessions (session_hash TEXT PRIMARY KEY, expires DOUBLE PRECISION NOT NULL);
CREATE TABLE agreements (
    worker_id TEXT NOT NULL REFERENCES workers, requester_id TEXT NOT NULL, page TEXT NOT NULL, agreed
    DOUBLE PRECISION NOT NULL, PRIMARY KEY (worker_id, requester_id, page));
CREATE TABLE admin_log (
    seq {serial}, time DOUBLE PRECISION NOT NULL, admin TEXT NOT NULL, act TEXT NOT NULL, about TEXT NOT
    NULL, status BIGINT);
"""

STEPS = (_FIRST,)
