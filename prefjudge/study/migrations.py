"""The study's tables, as the steps that made them: append a step, never change one that was released."""

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
    CREATE TABLE model_requests (
        request {serial},
        model TEXT NOT NULL, prompt_tokens BIGINT NOT NULL, reply_tokens BIGINT NOT NULL,
        intended DOUBLE PRECISION NOT NULL
    );
    """,
]
