//! What the engine makes of work that ends otherwise than by itself.

use super::*;

fn run() -> RunId {
    RunId::parse("r1").unwrap()
}

#[tokio::test]
async fn work_that_panics_is_an_error_of_its_run() {
    let panics = async { std::panic::resume_unwind(Box::new("a bug")) };
    let outcome: Result<(), _> = at_home(&run(), panics).await;
    assert!(matches!(outcome, Err(EngineError::BrokeDown { .. })), "{outcome:?}");
}

#[test]
fn a_caller_that_outlives_the_runtime_is_told_and_does_not_wait_for_ever() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    let (started, is_started) = std::sync::mpsc::sync_channel(1);
    let (told, is_told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let work = async move {
            started.send(()).unwrap();
            std::future::pending::<Result<(), EngineError>>().await
        };
        told.send(handle.block_on(at_home(&run(), work))).unwrap();
    });
    is_started.recv_timeout(Duration::from_secs(20)).unwrap();
    runtime.shutdown_background();
    let outcome = is_told.recv_timeout(Duration::from_secs(20)).expect("it does not wait for ever");
    assert!(matches!(outcome, Err(EngineError::ShutDown { .. })), "{outcome:?}");
}
