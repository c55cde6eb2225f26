-- Records of some kinds are read in their order without passing over those of other kinds.

CREATE UNIQUE INDEX records_by_kind ON records (scope, kind, position);
