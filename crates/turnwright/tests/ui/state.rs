use turnwright::{State, tool};

struct Db;

/// State that is described to the model.
#[tool]
async fn described(#[arg(note = "Not for the model.")] db: State<Db>) {}

/// State that is changed.
#[tool]
async fn changed(db: &mut State<Db>) {}

struct NotShared(std::rc::Rc<u8>);

/// State that threads cannot share.
#[tool]
async fn not_shared(db: State<NotShared>) {}

fn main() {}
