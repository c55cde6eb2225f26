//! Searches in turns.
