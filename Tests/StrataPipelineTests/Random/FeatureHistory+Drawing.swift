import StoreModels
import StrataPipeline

extension FeatureHistory {
    /// A random step; nil if the dice pick an operation that does not exist.
    func draw(_ dice: inout Dice) -> FeatureStep? {
        let name = model.lastName + 1
        switch dice.number(0..<29) {
        case 0..<5: return .enqueue((name..<(name + dice.number(1..<4))).map { draft($0, &dice) })
        case 5..<7:
            let (key, policy) = (dice.pick(["k", "u"])!, dice.pick(DuplicatePolicy.allCases)!)
            return .unique(draft(name, &dice), key: key, seconds: dice.number(2..<30), policy)
        case 7..<9:
            let delay = dice.number(1..<6)
            let lane = dice.pick(["a", "b"])!
            let draft = FeatureStep.Draft(name: "op\(name)", lane: lane, priority: dice.number(0..<3))
            return .debounce(draft, delay: delay, maxWait: delay + dice.number(0..<6))
        case 9..<17:
            let value = dice.number(0..<1000)
            let ends: [FeatureStep.End] = [
                .done, .done, .doneWithResult(value), .doneWithResult(value), .doneInBlock(value), .thrown, .thrown,
                .failing, .retrying, .snoozing, .skipping,
            ]
            return dice.pick(model.running.map(\.label).sorted()).map { .end($0, dice.pick(ends)!) }
        case 17..<21: return .pass(dice.number(1..<8))
        case 21:
            let settings: [FeatureStep.Setting] = [
                .isPaused(true), .isPaused(true), .maxConcurrent(nil), .maxConcurrent(1), .maxConcurrent(3),
                .rateLimit(RateLimit(1, per: .seconds(4))), .rateLimit(RateLimit(4, per: .seconds(8))), .reset, .reset,
                .reset,
            ]
            return .set(dice.pick(settings)!)
        case 22..<26: return .change(change(&dice), isBulk: dice.chance(60))
        case 26: return .runSchedule("now\(name)")
        case 27: return .pauseSchedule(dice.chance(40))
        default: return .reopen(after: dice.pick([0, 3, 50, 200])!)
        }
    }

    private func draft(_ number: Int, _ dice: inout Dice) -> FeatureStep.Draft {
        var prerequisites: [String: DependencyPolicy] = [:]
        while dice.chance(25), let other = dice.pick(model.queued.keys.sorted()) {
            prerequisites[other] = dice.pick(DependencyPolicy.allCases)!
        }
        return FeatureStep.Draft(
            name: "op\(number)",
            lane: dice.pick(["a", "b"])!,
            priority: dice.number(0..<3),
            prerequisites: prerequisites,
            tags: BulkStep.tags.filter { _ in dice.chance(40) },
            expires: dice.chance(25) ? dice.number(2..<12) : nil,
            maxAttempts: dice.chance(20) ? dice.number(1..<4) : nil,
            timeout: dice.chance(20) ? dice.number(2..<9) : nil
        )
    }

    private func change(_ dice: inout Dice) -> BulkStep {
        let tag = BulkStep.Filter.tag(dice.pick(BulkStep.tags)!)
        let filter = dice.pick([tag, tag, .all, .lane("a"), .lane("b"), .atLeast(1), .atLeast(2)])!
        switch dice.number(0..<8) {
        case 0, 1: return BulkStep(action: .retry, filter: dice.chance(70) ? .failed : filter)
        case 2: return BulkStep(action: .skip(dice.pick(RunningPolicy.allCases)!), filter: tag)
        case 3, 4: return BulkStep(action: .hold(seconds: dice.number(1..<20)), filter: filter)
        case 5: return BulkStep(action: .release(dice.pick(["audit", "retry"])!), filter: filter)
        default: return BulkStep(action: .priority(dice.number(0..<5)), filter: filter)
        }
    }
}
