import CFileSteps
import CloudScenarios
import Foundation

// strata-cloud-crash SCENARIO FOLDER STEP [opening]: does the work of a scenario, and ends by SIGKILL right before a
// step. Steps count from the moment at which the account is open, or with `opening` from the beginning. With step 0 the
// process is never killed. At the end it prints the number of steps.

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let arguments = CommandLine.arguments
guard arguments.count >= 4, let scenario = Scenario.all.first(where: { $0.name == arguments[1] }),
    let step = Int(arguments[3])
else {
    say("usage: strata-cloud-crash SCENARIO FOLDER STEP [opening]")
    exit(2)
}
let isFromBeginning = arguments.count > 4

func count() {
    guard kill_before_step(step) == 0 else { return }
    say("error: steps cannot be counted here")
    exit(3)
}

do {
    if isFromBeginning { count() }
    try await scenario.run(ScenarioFolder(URL(filePath: arguments[2]))) { if !isFromBeginning { count() } }
    say("done \(file_steps())")
} catch {
    say("error: \(error)")
    exit(1)
}
