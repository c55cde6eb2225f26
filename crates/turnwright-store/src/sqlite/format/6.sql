-- A turn that the executor nacked is `nacked`.
UPDATE records SET turn_state = 'nacked' WHERE turn_state = 'refused';

-- Changes since a revision are in the log of batches, newest first along `previous`: an index of all records would make every
-- write more expensive. `records` is a JSON array of the rows that the batch put.
DROP INDEX records_by_revision;
ALTER TABLE conversations ADD COLUMN last_batch_id BLOB;
ALTER TABLE batches ADD COLUMN conversation INTEGER;
ALTER TABLE batches ADD COLUMN previous BLOB;
ALTER TABLE batches ADD COLUMN records TEXT;
