//! Metadata of conversations.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::field::{Json, Text, VERSION};
use super::{Invalid, Stored};
use crate::error::Error;
use crate::record::{ByteResolver, ConversationInfo, Record, RecordKind};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredInfo<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: Cow<'a, BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Json<'a>>,
}

impl<'a> TryFrom<&'a ConversationInfo> for StoredInfo<'a> {
    type Error = Error;

    fn try_from(info: &'a ConversationInfo) -> Result<Self, Error> {
        let kind = RecordKind::ConversationInfo;
        let data = match info.data.is_empty() {
            true => None,
            false => {
                let data = Value::Object(info.data.clone());
                Some(Json::owned(kind, "data", data)?)
            }
        };
        Ok(StoredInfo {
            v: VERSION,
            kind,
            id: info.id().into(),
            title: info.title.as_ref().map(Text::from),
            owner: info.owner.as_ref().map(Text::from),
            labels: Cow::Borrowed(&info.labels),
            data,
        })
    }
}

impl Stored for StoredInfo<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let data = match self.data.map(Json::into_value) {
            None => Map::new(),
            Some(Value::Object(data)) => data,
            Some(_) => return Err(Invalid::new("data", "expected JSON text of an object")),
        };
        let info = ConversationInfo::stored(
            (*self.id).into(),
            self.title.map(Text::into_owned),
            self.owner.map(Text::into_owned),
            self.labels.into_owned(),
            data,
        );
        Ok(info.build()?.into())
    }
}
