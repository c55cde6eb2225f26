use turnwright::store::MemoryStore;
use turnwright::{BoxError, DispatchContext, Storage, TurnRunner};

async fn model(_: DispatchContext) -> Result<(), BoxError> {
    Ok(())
}

// A store without its spool and its secret.
fn a_store_alone() {
    let _ = turnwright::runner(model).store(MemoryStore::default());
}

// A runner that is not built.
fn unfinished() -> TurnRunner {
    turnwright::runner(model).storage(Storage::memory())
}

fn main() {}
