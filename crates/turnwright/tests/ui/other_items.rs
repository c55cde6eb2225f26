use turnwright::tool;

#[tool]
struct Weather;

#[tool]
impl Weather {
    async fn today() {}
}

fn main() {}
