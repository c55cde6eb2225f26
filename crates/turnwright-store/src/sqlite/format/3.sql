-- A record is found by kind and id alone too, in whatever scopes hold it; and a scope that holds no record has no name here.

DROP INDEX records_by_id;
CREATE UNIQUE INDEX records_by_id ON records (kind, id, scope);

-- What outlives the last record of a scope, since revisions, fences and positions never go back: the numbers, under a digest of
-- the name. It is told from the name and the salt, but not the name from it.
CREATE TABLE forgotten (
    digest BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    last_position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE salt (salt BLOB NOT NULL) STRICT;
INSERT INTO salt VALUES (randomblob(32));
