import Testing

/// Compares random histories with a model of the features that ``RandomPipelineTests`` does not draw: settings of
/// operators, schedules, rate limits of lanes, unique and debounced operations, options of operations, results, tags and
/// bulk actions. After each step, the same operations have started, the call has given the same answer, and the store
/// agrees with the model. Pipelines are closed and opened again in between. In the end every operation ends.
///
/// One tenth of the histories of ``RandomHistories/runs`` is played.
@Suite("Random histories of settings, limits, keys, options and schedules") struct RandomFeatureTests {
    @Test("A pipeline and its store agree with the model of its features after each step", .timeLimit(.minutes(20)))
    func histories() async {
        await RandomHistories.play("features", count: max(1, RandomHistories.runs / 10)) { seed in
            await RandomHistories.history(of: FeatureHistory.self, seed)
        }
    }
}
