//! Rejects parameter types that cannot be deserialised into an owned value. Visits the complete type, so that
//! `Option<&str>` is rejected like `&u8`.

use syn::visit::{self, Visit};
use syn::{Lifetime, PathSegment, Type, TypeReference};

use crate::refusals::Refusals;

/// Rejects every part of `ty` that an argument cannot own.
pub(crate) fn check_owned(ty: &Type, refusals: &mut Refusals) {
    OwnedOnly { refusals }.visit_type(ty);
}

struct OwnedOnly<'refusals> {
    refusals: &'refusals mut Refusals,
}

impl<'ast> Visit<'ast> for OwnedOnly<'_> {
    fn visit_type(&mut self, ty: &'ast Type) {
        let sentence = match ty {
            Type::ImplTrait(_) => "`impl Trait` has no schema: write a concrete type",
            Type::TraitObject(_) => {
                "`dyn Trait` cannot be deserialised: write a concrete type, or an enum for alternatives"
            }
            Type::Infer(_) => "`_` has no schema: write the type out",
            Type::Ptr(_) | Type::FnPtr(_) | Type::Never(_) => {
                "this type cannot be deserialised: take plain data as an argument, and pass everything else as `State<T>`"
            }
            _ => return visit::visit_type(self, ty),
        };
        self.refusals.refuse(ty, sentence);
    }

    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        self.refusals.refuse(
            reference,
            "references inside a type are not supported: write the owned type (`String` for `&str`, `Vec<T>` for `&[T]`)",
        );
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.refusals.refuse(
                lifetime,
                "arguments must own their data: write an owned type without a lifetime",
            );
        }
    }

    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        if segment.ident == "u128" || segment.ident == "i128" {
            self.refusals.refuse(
                segment,
                "JSON Schema cannot describe 128-bit integers: use `u64`, `i64`, or a `String` of digits",
            );
        }
        visit::visit_path_segment(self, segment);
    }
}
