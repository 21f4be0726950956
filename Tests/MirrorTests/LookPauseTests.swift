import Testing

@testable import MirrorKit

/// Pauses between looks at all files.
@Suite struct LookPauseTests {
    /// Short looks keep the interval. Long ones lengthen the pause, until a look is short again.
    @Test func lengths() {
        var pause = LookPause(atLeast: .seconds(1))
        #expect(pause.length == .seconds(1))
        pause.note(.milliseconds(100))
        #expect(pause.length == .seconds(1))
        pause.note(.milliseconds(400))
        #expect(pause.length == .milliseconds(3_600))
        pause.note(.seconds(600))
        #expect(pause.length == .seconds(60))
        pause.note(.milliseconds(3))
        #expect(pause.length == .seconds(1))
        var long = LookPause(atLeast: .seconds(300))
        long.note(.seconds(600))
        #expect(long.length == .seconds(300))
    }
}
