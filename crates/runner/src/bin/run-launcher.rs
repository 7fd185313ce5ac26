//! The launcher alone, for this crate's tests; the product calls `launcher_main` from `__run`.

fn main() -> std::process::ExitCode {
    shrooms_runner::launcher_main()
}
