-- Records of some kinds are read in order without skipping those of other kinds.

CREATE UNIQUE INDEX records_by_kind ON records (scope, kind, position);
