import Testing

/// Compares random histories of a pipeline with a reference model. After each step, the same operations have started in
/// the same order, and the store agrees with the model about each operation. In the end every operation ends.
@Suite("Random histories of pipelines") struct RandomPipelineTests {
    @Test("A pipeline and its store agree with the model after each step", .timeLimit(.minutes(20)))
    func histories() async {
        await RandomHistories.play("pipelines", count: RandomHistories.runs) { seed in
            await RandomHistories.history(of: PipelineHistory.self, seed)
        }
    }
}
