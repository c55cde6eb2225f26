use super::*;

#[tokio::test]
async fn tasks_started_by_a_dropped_task_are_waited_for() {
    struct LeavesBehind(Tasks, Arc<AtomicUsize>);
    impl Drop for LeavesBehind {
        fn drop(&mut self) {
            let done = Arc::clone(&self.1);
            let late = async move {
                tokio::task::yield_now().await;
                done.fetch_add(1, Ordering::Relaxed);
            };
            self.0.spawn_on(late, &Handle::current());
        }
    }
    let (tasks, done) = (Tasks::default(), Arc::new(AtomicUsize::new(0)));
    // One was never polled, one is dropped midway.
    for polled in [false, true] {
        let left = LeavesBehind(tasks.clone(), Arc::clone(&done));
        let task = tasks.spawn_on(
            async move {
                let _left = left;
                std::future::pending::<()>().await;
            },
            &Handle::current(),
        );
        if polled {
            tokio::task::yield_now().await;
        }
        assert!(!tasks.is_empty());
        task.abort();
    }
    tasks.wait().await;
    assert_eq!(done.load(Ordering::Relaxed), 2);
    tasks.wait().await;
}
