import StrataPipeline
import StoreModels

extension PipelineHistory {
    /// A random action that is possible now; nil if the dice pick an object that does not exist.
    func draw(_ dice: inout Dice) -> Action? {
        let name = dice.pick(model.queued.keys.sorted())
        let running = dice.pick(model.running.map(\.name).sorted())
        // Most actions are possible only while operations run.
        if model.suspensions > 0, dice.chance(30) { return .resume }
        switch dice.number(0..<26) {
        case 0..<5: return .commit(drafts(&dice))
        case 5..<12:
            let ends: [End] = [
                .done, .done, .done, .doneWithChanges, .doneWithChanges, .doneInVain(byBlock: dice.chance(50)), .thrown,
                .waiting, .failing, .retrying,
            ]
            return running.map { .end($0, dice.pick(ends)!) }
        case 12..<15: return name.map { .decide($0, dice.pick(OperationRequest.allCases)!) }
        case 15: return name.map { .prioritise($0, dice.number(0..<5)) }
        case 16: return name.map { .hold($0, name: dice.pick(["embargo", "night"])!, seconds: dice.number(0..<9)) }
        case 17:
            let held = dice.pick(model.queued.values.filter { !$0.holds.isEmpty }.map(\.name).sorted()) ?? name
            return held.map { .release($0, name: dice.pick(["embargo", "night", "retry"])!) }
        case 18: return .suspend
        case 19: return .resume
        case 20: return .pass(dice.number(1..<7))
        case 21: return dice.pick(letters.intersection(model.queued.keys).sorted()).map { .deleteLetter($0) }
        case 22: return .network
        case 23: return .crashElsewhere(dice.number(1..<4))
        case 24: return rules.isOnFile ? .crash : nil
        default: return rules.isOnFile ? .reopen : nil
        }
    }

    private func drafts(_ dice: inout Dice) -> [Draft] {
        (1...dice.number(1..<4)).map { place in
            let number = lastName + place
            // Some prerequisites are queued, others are not queued yet, and one may be the operation itself. Many of
            // these form cycles.
            let known = model.queued.keys.sorted() + (number..<(number + 3)).map { "op\($0)" }
            var prerequisites: Set<String> = []
            while dice.number(0..<3) == 0 { prerequisites.insert(dice.pick(known)!) }
            return Draft(
                name: "op\(number)",
                lane: dice.pick(["a", "b", "c"])!,
                priority: dice.number(0..<3),
                prerequisites: prerequisites,
                hasLetter: dice.chance(50)
            )
        }
    }
}
