use turnwright::tool;

struct Service;

impl Service {
    /// Looks something up.
    #[tool]
    pub async fn look_up(&self, key: &str) -> String {
        key.to_owned()
    }
}

fn main() {}
