import Foundation
import Testing

@testable import StrataCloud

/// The bytes of the last ten seconds, exactly.
@Suite struct TransferWindowTests {
    private let start = Date(timeIntervalSinceReferenceDate: 1000)
    private let source = TransferWindow.Source(direction: .upload, node: 1)

    private func throughput(_ window: TransferWindow, after seconds: Double) -> Double {
        window.throughput(.upload, at: start + seconds) { _ in true }
    }

    @Test("Bytes count over the time since the start, and over ten seconds at most")
    func tenSeconds() {
        var window = TransferWindow()
        window.begin(.upload, isFirst: true, at: start)
        for second in 0..<20 { window.add(100, of: source, at: start + Double(second) + 0.5) }
        // The window contains the last ten seconds that have begun. The last one is half over.
        #expect(throughput(window, after: 19.5) == 1000 / 9.5)
        #expect(throughput(window, after: 24) == 500.0 / 9)
        #expect(throughput(window, after: 40) == 0)
    }

    @Test("A start of less than a second counts as one second")
    func shortStart() {
        var window = TransferWindow()
        window.begin(.upload, isFirst: true, at: start + 0.9)
        window.add(50, of: source, at: start + 0.95)
        #expect(throughput(window, after: 1) == 50)
        #expect(throughput(window, after: 2.9) == 25)
    }

    @Test("After a pause, the time starts over")
    func afterPause() {
        var window = TransferWindow()
        window.begin(.upload, isFirst: true, at: start)
        window.add(100, of: source, at: start)
        window.begin(.upload, isFirst: true, at: start + 30)
        window.add(80, of: source, at: start + 31)
        #expect(throughput(window, after: 32) == 40)
    }

    @Test("Directions and nodes are counted separately")
    func separateTransfers() {
        var window = TransferWindow()
        window.begin(.upload, isFirst: true, at: start)
        window.begin(.download, isFirst: true, at: start)
        window.add(10, of: source, at: start + 1)
        window.add(20, of: TransferWindow.Source(direction: .upload, node: 2), at: start + 1)
        window.add(40, of: TransferWindow.Source(direction: .download, node: 1), at: start + 1)
        #expect(window.throughput(.upload, at: start + 2) { $0 == 1 } == 5)
        #expect(window.throughput(.upload, at: start + 2) { _ in true } == 15)
        #expect(window.throughput(.download, at: start + 2) { _ in true } == 20)
    }

    @Test("A clock that is set back adds no bytes")
    func clockSetBack() {
        var window = TransferWindow()
        window.begin(.upload, isFirst: true, at: start)
        window.add(100, of: source, at: start + 5)
        window.add(7, of: source, at: start - 100)
        #expect(throughput(window, after: -99) == 7)
    }
}
