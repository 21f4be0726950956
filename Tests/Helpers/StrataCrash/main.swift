import FileHome
import Foundation
import Strata
import StoreModels

// Usage: strata-crash <command> <path> [number] [number] [name]. Each line of its output is an acknowledgement. It is
// written at once and without a buffer, so it survives the process.

func acknowledge(_ line: String) {
    var bytes = Array((line + "\n").utf8)
    while !bytes.isEmpty {
        let count = write(1, bytes, bytes.count)
        guard count > 0 else { exit(3) }
        bytes.removeFirst(count)
    }
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    acknowledge("usage: strata-crash <command> <path> [number] [number] [name]")
    exit(2)
}
let path = arguments[2]
let numbers = arguments.dropFirst(3).map { Int($0) ?? 0 } + [0, 0]
let number = numbers[0]

do {
    switch arguments[1] {
    case "transfer": try await CrashCommands.transfer(path)
    case "add": try await CrashCommands.add(path, amount: number, times: 30)
    case "count": try await CrashCommands.count(path, writers: number, times: numbers[1])
    case "ids": try await CrashCommands.ids(path, count: number)
    case "blocks": try await CrashCommands.blocks(path, count: number)
    case "lock": try await CrashCommands.lock(path)
    case "migrate": try await CrashCommands.migrate(path)
    case "memory": try await CrashCommands.memory()
    case "soak": try await SoakProcess.run(path, seed: number, steps: numbers[1])
    case "create":
        try await CrashCommands.create(path, killAt: arguments.count > 4 ? (kind: arguments[4], number: number) : nil)
    case "open": try await CrashCommands.open(path)
    case "drain": try await CrashCommands.drain(path)
    case "limited": try await CrashCommands.limited(path, limit: number, rate: numbers[1])
    case "handle": try await CrashCommands.handle(path)
    case "settings": try await CrashCommands.settings(path)
    case "poison": try await CrashCommands.poison(path, besides: number)
    case "unique": try await CrashCommands.unique(path, count: number)
    case "serve": try await CrashCommands.serve(path)
    case "bulk": try await CrashCommands.bulk(path, killBefore: number)
    case "steps": try await CrashCommands.steps(path, killBefore: number)
    case "share": try await CrashCommands.share(path)
    case "backup": try await CrashCommands.backup(path)
    case "home":
        let step = arguments.count > 3 ? HomeFaults.Step(rawValue: arguments[3]) : nil
        try CrashCommands.publishInHome(path, endAt: step)
    case "node": try await FleetNode.run(arguments[2])
    case "move":
        try CrashCommands.move(path, to: arguments[3], endAt: HomeFaults.Step(rawValue: arguments[4]))
    case "migrate-home":
        try await CrashCommands.migrateHome(path, Array(arguments.dropFirst(4)), endAt: arguments[3])
    case "compete": try await CrashCommands.compete(path, contexts: number)
    case "groups":
        let step = arguments.count > 5 ? (kind: arguments[5], number: numbers[1]) : nil
        try await CrashCommands.groups(path, seed: number, killAt: step)
    default: throw StrataError(.invalidState, "There is no command '\(arguments[1])'.")
    }
} catch {
    acknowledge("error \(error)")
    exit(1)
}
