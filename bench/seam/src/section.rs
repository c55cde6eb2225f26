//! The sections of the report.

pub(crate) const SMALL: &str = "small call";
pub(crate) const LARGE: &str = "large call";
pub(crate) const REGISTRY: &str = "registry";
pub(crate) const BUILDING: &str = "building";
