//! The program `turnwright`.

fn main() -> std::process::ExitCode {
    turnwright_cli::Program::new().main()
}
