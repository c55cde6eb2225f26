//! Tool calls.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::artifact::StoredArtifact;
use super::bytes::StoredState;
use super::field::{Digest, Encoded, Json, Text, Time, VERSION};
use super::flow::{StoredDenial, StoredExposure};
use super::media::StoredMedia;
use super::response::StoredResponse;
use super::{Invalid, Stored, read_all, stamp};
use crate::error::Error;
use crate::media::Media;
use crate::record::{ByteResolver, Record, RecordKind, ToolCall, ToolResults};
use crate::schema::{Raw, RawArgs};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredCall<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    created_at: Time,
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_id: Option<Text<'a>>,
    tool: Text<'a>,
    args: StoredArgs<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_args: Option<Json<'a>>,
    checksum: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<StoredResults<'a>>,
    trusted: bool,
    inline: bool,
    from_artifact_tool: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantined: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    denial: Option<StoredDenial<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_cut: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_state: Option<StoredState<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordinal: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exposure: Option<StoredExposure>,
}

/// The raw arguments: text, a value, or bytes that are not UTF-8.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct StoredArgs<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lossy_text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_up_to: Option<u64>,
}

/// One of these, or artifacts with media. Not an enum, because a later release may add fields.
#[derive(Default, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct StoredResults<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<Vec<StoredMedia<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<Vec<StoredArtifact<'a>>>,
}

impl<'a> TryFrom<&'a ToolCall> for StoredCall<'a> {
    type Error = Error;

    fn try_from(call: &'a ToolCall) -> Result<Self, Error> {
        let edited = call.edited_args();
        let edited = edited.map(|args| Json::new(RecordKind::ToolCall, "editedArgs", args));
        let of = StoredResponse::new(call.response(), call.provider_state());
        Ok(StoredCall {
            v: VERSION,
            kind: RecordKind::ToolCall,
            id: call.id().into(),
            created_at: Encoded(call.created_at()),
            updated_at: Encoded(call.updated_at()),
            completed_at: call.completed_at().map(Encoded),
            provider_id: call.provider_id().map(Text::from),
            tool: call.tool().into(),
            args: call.args().into(),
            args_bytes: call.args_bytes(),
            edited_args: edited.transpose()?,
            checksum: Encoded(call.checksum),
            results: StoredResults::new(call)?,
            trusted: call.is_trusted(),
            inline: call.is_inline(),
            from_artifact_tool: call.from_artifact_tool(),
            truncated: call.is_truncated().then_some(true),
            private: call.is_private().then_some(true),
            quarantined: call.is_quarantined().then_some(true),
            denial: call.denial().map(StoredDenial::from),
            response_id: of.id,
            response_cut: of.cut,
            provider_state: of.state,
            ordinal: call.ordinal(),
            cut_off: call.is_cut_off().then_some(true),
            exposure: StoredExposure::new(call.exposure()),
        })
    }
}

impl<'a> From<&'a RawArgs> for StoredArgs<'a> {
    fn from(args: &'a RawArgs) -> Self {
        let mut stored = StoredArgs::default();
        match args.raw() {
            Raw::Text(text) => stored.text = Some((**text).into()),
            Raw::NotUtf8 { lossy, valid_up_to } => {
                stored.lossy_text = Some((**lossy).into());
                stored.valid_up_to = Some(*valid_up_to as u64);
            }
            // For a value that is too deep to run, this is its text.
            Raw::Value(_) => stored.json = Some(Encoded(Cow::Owned(args.to_value()))),
        }
        stored
    }
}

impl TryFrom<StoredArgs<'_>> for RawArgs {
    type Error = Invalid;

    fn try_from(stored: StoredArgs<'_>) -> Result<Self, Invalid> {
        match (stored.text, stored.lossy_text, stored.json) {
            (Some(text), _, _) => Ok((*text).into()),
            (None, Some(lossy), _) => {
                let valid_up_to = stored.valid_up_to;
                let valid_up_to = valid_up_to.ok_or_else(|| Invalid::missing("args.validUpTo"))?;
                let valid_up_to = usize::try_from(valid_up_to).unwrap_or(usize::MAX);
                Ok(RawArgs::not_utf8(&lossy, valid_up_to))
            }
            (None, None, Some(json)) => Ok(json.into_value().into()),
            (None, None, None) => Err(Invalid::missing("args.json")),
        }
    }
}

impl<'a> StoredResults<'a> {
    fn new(call: &'a ToolCall) -> Result<Option<Self>, Error> {
        let artifact = |artifact| StoredArtifact::new(RecordKind::ToolCall, artifact);
        let mut stored = StoredResults::default();
        match call.results() {
            ToolResults::Nothing => return Ok(None),
            ToolResults::Text(text) => stored.text = Some(text.as_str().into()),
            ToolResults::Failure(text) => stored.failure = Some(text.as_str().into()),
            ToolResults::Refusal(text) => stored.refusal = Some(text.as_str().into()),
            ToolResults::Media(_) => stored.media = Some(Vec::new()),
            ToolResults::Artifacts(all) => {
                let all: Result<_, Error> = all.iter().map(artifact).collect();
                stored.artifacts = Some(all?);
            }
        }
        let media = call.media().iter().map(StoredMedia::from);
        stored.media = match (stored.media, call.media().is_empty()) {
            (None, true) => None,
            _ => Some(media.collect()),
        };
        Ok(Some(stored))
    }

    /// Returns the result, and the media beside it.
    fn read(self, resolver: &ByteResolver) -> Result<(ToolResults, Vec<Media>), Invalid> {
        let media = self
            .media
            .map(|all| read_all(all, "results.media", |media| media.read(resolver)));
        let mut media = media.transpose()?;
        let results = if let Some(text) = self.text {
            Ok(ToolResults::Text(text.into_owned()))
        } else if let Some(text) = self.failure {
            Ok(ToolResults::Failure(text.into_owned()))
        } else if let Some(text) = self.refusal {
            Ok(ToolResults::Refusal(text.into_owned()))
        } else if let Some(all) = self.artifacts {
            let artifacts = read_all(all, "results.artifacts", |artifact| artifact.read(resolver));
            artifacts.map(ToolResults::Artifacts)
        } else if let Some(media) = media.take() {
            Ok(ToolResults::Media(media))
        } else {
            let reason = "must have one of `text`, `artifacts`, `media`, `failure`, `refusal`";
            Err(Invalid::new("results", reason))
        };
        Ok((results?, media.unwrap_or_default()))
    }
}

impl Stored for StoredCall<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, resolver: &ByteResolver) -> Result<Record, Invalid> {
        let stamp = stamp(self.id, self.created_at, self.updated_at);
        let (tool, args) = ((*self.tool).into(), self.args.try_into()?);
        let mut builder = ToolCall::stamped(tool, args, self.checksum.0, stamp)
            .trusted(self.trusted)
            .inline(self.inline)
            .from_artifact_tool(self.from_artifact_tool)
            .truncated(self.truncated.unwrap_or_default())
            .private(self.private.unwrap_or_default())
            .cut_off(self.cut_off.unwrap_or_default());
        if let Some(args) = self.edited_args {
            builder = builder.edited_args(args.into_value());
        }
        let results = self.results.map(|results| results.read(resolver));
        let call = &mut builder.call;
        let results = results.transpose()?;
        let nothing = (ToolResults::Nothing, Vec::new());
        (call.settled.results, call.settled.attachments) = results.unwrap_or(nothing);
        call.completed_at = self.completed_at.map(|at| at.0);
        call.provider_id = self.provider_id.map(|id| (*id).into());
        call.ordinal = self.ordinal;
        let stored = StoredResponse {
            id: self.response_id,
            cut: self.response_cut,
            state: self.provider_state,
        };
        (call.response, call.provider_state) = stored.read()?;
        call.args_bytes = self.args_bytes;
        call.exposure = StoredExposure::read(self.exposure);
        call.settled.quarantined = self.quarantined.unwrap_or_default();
        call.settled.denial = self.denial.map(|denial| Box::new(denial.into()));
        Ok(builder.rebuild()?.into())
    }
}
