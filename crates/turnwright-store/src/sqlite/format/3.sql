-- A record can be found by kind and id alone, in all scopes. A scope without records has no name here.

DROP INDEX records_by_id;
CREATE UNIQUE INDEX records_by_id ON records (kind, id, scope);

-- Kept after the last record of a scope, because revisions, fences and positions never decrease: the counters, under a digest
-- of the name and the salt. The name cannot be derived from it.
CREATE TABLE forgotten (
    digest BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    last_position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE salt (salt BLOB NOT NULL) STRICT;
INSERT INTO salt VALUES (randomblob(32));
