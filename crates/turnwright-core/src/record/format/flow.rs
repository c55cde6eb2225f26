//! What a record says about information flow.

use serde::{Deserialize, Serialize};

use super::field::Text;
use crate::record::{Denial, Exposure, RecordKind, TaintSource};
use crate::trust::TrustTier;

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredExposure {
    #[serde(skip_serializing_if = "Option::is_none")]
    trust_tier: Option<TrustTier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<bool>,
}

impl StoredExposure {
    /// `None` if there is nothing to store.
    pub(super) fn new(exposure: Exposure) -> Option<Self> {
        let stored = StoredExposure {
            trust_tier: exposure.tier,
            private: exposure.private.then_some(true),
        };
        (!exposure.is_empty()).then_some(stored)
    }

    pub(super) fn read(stored: Option<Self>) -> Exposure {
        stored.map_or_else(Exposure::default, |stored| Exposure {
            tier: stored.trust_tier,
            private: stored.private.unwrap_or_default(),
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct StoredDenial<'a> {
    reason: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<StoredSource<'a>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct StoredSource<'a> {
    kind: RecordKind,
    id: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust_tier: Option<TrustTier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    derived: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outer: Option<bool>,
}

impl<'a> From<&'a Denial> for StoredDenial<'a> {
    fn from(denial: &'a Denial) -> Self {
        let sources = denial.sources.iter().map(StoredSource::from);
        StoredDenial {
            reason: (&denial.reason).into(),
            sources: (!denial.sources.is_empty()).then(|| sources.collect()),
        }
    }
}

impl From<StoredDenial<'_>> for Denial {
    fn from(stored: StoredDenial<'_>) -> Self {
        let sources = stored.sources.unwrap_or_default().into_iter();
        Denial {
            reason: stored.reason.into_owned(),
            sources: sources.map(TaintSource::from).collect(),
        }
    }
}

impl<'a> From<&'a TaintSource> for StoredSource<'a> {
    fn from(source: &'a TaintSource) -> Self {
        StoredSource {
            kind: source.kind,
            id: (&*source.id).into(),
            tool: source.tool.as_ref().map(Text::from),
            trust_tier: source.trust_tier,
            private: source.private.then_some(true),
            derived: source.derived.then_some(true),
            outer: source.outer.then_some(true),
        }
    }
}

impl From<StoredSource<'_>> for TaintSource {
    fn from(stored: StoredSource<'_>) -> Self {
        let mut source = TaintSource::new(stored.kind, &stored.id);
        source.tool = stored.tool.map(|tool| (*tool).into());
        source.trust_tier = stored.trust_tier;
        source.private = stored.private.unwrap_or_default();
        source.derived = stored.derived.unwrap_or_default();
        source.outer = stored.outer.unwrap_or_default();
        source
    }
}
