//! Parameter types that cannot be deserialised and kept: found by a walk over the whole type, so that `Option<&str>` is
//! refused as `&u8` is.

use syn::visit::{self, Visit};
use syn::{Lifetime, PathSegment, Type, TypeReference};

use crate::refusals::Refusals;

/// Refuses every part of `ty` that a tool's argument cannot own.
pub(crate) fn check_owned(ty: &Type, refusals: &mut Refusals) {
    OwnedOnly { refusals }.visit_type(ty);
}

struct OwnedOnly<'refusals> {
    refusals: &'refusals mut Refusals,
}

impl<'ast> Visit<'ast> for OwnedOnly<'_> {
    fn visit_type(&mut self, ty: &'ast Type) {
        let sentence = match ty {
            Type::ImplTrait(_) => {
                "`impl Trait` has no schema: name the type that the model's arguments are read into"
            }
            Type::TraitObject(_) => {
                "`dyn Trait` cannot be read from JSON: name a concrete type, for alternatives an enum"
            }
            Type::Infer(_) => "`_` has no schema: write the type out",
            Type::Ptr(_) | Type::FnPtr(_) | Type::Never(_) => {
                "this type cannot be read from JSON: take data, and reach the rest through what the tool's module owns"
            }
            _ => return visit::visit_type(self, ty),
        };
        self.refusals.refuse(ty, sentence);
    }

    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        self.refusals.refuse(
            reference,
            "a reference inside a type cannot be lent: write the owned type (`String` for `&str`, `Vec<T>` for `&[T]`)",
        );
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.refusals.refuse(
                lifetime,
                "a tool's arguments own their data: write an owned type, without a lifetime",
            );
        }
    }

    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        if segment.ident == "u128" || segment.ident == "i128" {
            self.refusals.refuse(
                segment,
                "JSON Schema cannot describe 128-bit integers: take `u64` or `i64`, or a `String` of digits",
            );
        }
        visit::visit_path_segment(self, segment);
    }
}
