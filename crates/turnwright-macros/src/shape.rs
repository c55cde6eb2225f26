//! The JSON shape of a type, as far as its syntax shows.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// The kind of JSON value that a type serialises to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    Number,
    Boolean,
    List,
    Map,
    /// A user-defined type or an alias: only the compiler knows.
    Unknown,
}

impl Shape {
    /// Returns the shape of `ty`. Looks through `Option` and `Box`: bounds apply to the inner type.
    pub(crate) fn of(ty: &Type) -> Self {
        match ty {
            Type::Group(group) => Self::of(&group.elem),
            Type::Paren(paren) => Self::of(&paren.elem),
            Type::Reference(reference) => Self::of(&reference.elem),
            Type::Array(_) | Type::Slice(_) => Self::List,
            Type::Tuple(tuple) if !tuple.elems.is_empty() => Self::List,
            Type::Path(path) => {
                let last = path.path.segments.last();
                last.map_or(Self::Unknown, Self::of_segment)
            }
            _ => Self::Unknown,
        }
    }

    fn of_segment(segment: &PathSegment) -> Self {
        match segment.ident.to_string().as_str() {
            "Option" | "Box" => only_type_argument(segment).map_or(Self::Unknown, Self::of),
            "String" | "str" | "char" | "PathBuf" => Self::Text,
            "bool" => Self::Boolean,
            "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize"
            | "f32" | "f64" => Self::Number,
            "Vec" | "VecDeque" | "HashSet" | "BTreeSet" => Self::List,
            "HashMap" | "BTreeMap" => Self::Map,
            _ => Self::Unknown,
        }
    }

    pub(crate) fn singular(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Unknown => "something else",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Text => "strings",
            Self::Number => "numbers",
            Self::List => "lists",
            Self::Boolean | Self::Map | Self::Unknown => "other values",
        }
    }
}

/// Returns `T` of `Wrapper<T>`.
pub(crate) fn only_type_argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match (arguments.args.first(), arguments.args.len()) {
        (Some(GenericArgument::Type(ty)), 1) => Some(ty),
        _ => None,
    }
}
