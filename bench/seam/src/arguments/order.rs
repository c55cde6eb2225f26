//! The large call: twenty fields, with nested objects and arrays.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Arguments;

/// An order.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the fields are deserialised, not read")]
pub(crate) struct Order {
    /// The order number of the shop
    #[schemars(length(min = 1, max = 40))]
    reference: String,
    customer: Customer,
    ship_to: Address,
    bill_to: Option<Address>,
    /// The ordered items
    #[schemars(length(min = 1, max = 50))]
    lines: Vec<Line>,
    currency: Currency,
    #[schemars(range(min = 1, max = 5))]
    priority: u8,
    express: bool,
    gift: bool,
    #[schemars(length(max = 500))]
    note: String,
    coupon: Option<String>,
    #[schemars(length(max = 10))]
    tags: Vec<String>,
    #[schemars(range(min = 0.0, max = 1000.0))]
    weight_kg: f64,
    #[schemars(length(min = 3, max = 3))]
    size_cm: Vec<u32>,
    insured_for: f64,
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    not_before: String,
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    not_after: String,
    channel: Channel,
    #[schemars(range(min = 0, max = 9))]
    #[serde(default = "two_retries")]
    retries: u32,
    signature: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the fields are deserialised, not read")]
struct Customer {
    #[schemars(length(min = 1, max = 80))]
    name: String,
    #[schemars(email)]
    email: String,
    loyal: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the fields are deserialised, not read")]
struct Address {
    street: String,
    city: String,
    postcode: String,
    #[schemars(length(min = 2, max = 2))]
    country: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the fields are deserialised, not read")]
struct Line {
    #[schemars(length(min = 1, max = 20))]
    sku: String,
    #[schemars(range(min = 1, max = 999))]
    quantity: u32,
    price: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Currency {
    Chf,
    Eur,
    Usd,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Channel {
    Phone,
    Shop,
    Web,
}

fn two_retries() -> u32 {
    2
}

/// An order as text, with the two parts that the samples change.
macro_rules! order {
    (priority: $priority:literal, retries: $retries:literal) => {
        concat!(
            r#"{"reference": "A-2041-77", "#,
            r#""customer": {"name": "Ada Okonkwo", "email": "ada@example.org", "loyal": true}, "#,
            r#""ship_to": {"street": "12 Harbour Road", "city": "Kinsale", "postcode": "P17 X2", "country": "IE"}, "#,
            r#""bill_to": {"street": "3 rue des Lilas", "city": "Lyon", "postcode": "69003", "country": "FR"}, "#,
            r#""lines": [{"sku": "TEA-0450", "quantity": 2, "price": 7.25}, "#,
            r#"{"sku": "CUP-0012", "quantity": 6, "price": 4.5}, {"sku": "POT-0003", "quantity": 1, "price": 31.9}], "#,
            r#""currency": "EUR", "priority": "#,
            $priority,
            r#", "express": true, "gift": false, "note": "Leave with the neighbour at no. 14 if nobody answers.", "#,
            r#""coupon": "SPRING", "tags": ["fragile", "returning"], "weight_kg": 3.75, "size_cm": [40, 30, 25], "#,
            r#""insured_for": 120.0, "not_before": "2031-03-04", "not_after": "2031-03-11", "channel": "web", "#,
            $retries,
            r#""signature": true}"#
        )
    };
}

impl Arguments for Order {
    const TOOL: &'static str = "place_order";
    const DESCRIPTION: &'static str = "Place an order";
    const ANSWER: &'static str = "A-2041-77";

    const VALID: &'static str = order!(priority: "2", retries: "\"retries\": 3, ");
    const COERCED: &'static str = order!(priority: "\"2\"", retries: "\"retries\": 3, ");
    const DEFAULTED: &'static str = order!(priority: "2", retries: "");
    const OUT_OF_BOUNDS: &'static str = order!(priority: "77", retries: "\"retries\": 3, ");
    const DUPLICATE_KEY: &'static str =
        order!(priority: "2", retries: "\"retries\": 3, \"retries\": 4, ");

    fn answer(self) -> String {
        self.reference
    }
}
