import Foundation

// strata-sample COMMAND STORE [COUNT]: makes stores for the tests of the console in a browser, and works on them in a
// separate process while a browser shows them. Each line of its output is an acknowledgement.

func acknowledge(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    acknowledge(
        """
        usage: strata-sample MODE STORE [COUNT]

        Modes:
          make          makes a store with a little of everything that the console shows
          make-hostile  makes a store whose names and payloads contain markup and control characters
          fill          queues COUNT operations, in 20 pipelines with 50 lanes
          work          runs operations until the process is ended; each one queues the next
          control       obeys lines of the standard input: enqueue, fail or start, a PIPELINE and a COUNT
        """
    )
    exit(2)
}
let store = URL(fileURLWithPath: arguments[2])
let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0

do {
    switch arguments[1] {
    case "make": try await SampleStore.make(store)
    case "make-hostile": try await HostileStore.make(store)
    case "fill": try await SampleWork.fill(store, count: count)
    case "work": try await SampleWork.work(store)
    case "control": try await SampleControl.run(store)
    default:
        acknowledge("error: unknown command '\(arguments[1])'")
        exit(2)
    }
    acknowledge("done")
} catch {
    acknowledge("error: \(error)")
    exit(1)
}
