import StrataCloud
import StrataPipeline
import Testing

@Suite("Texts of errors of pipelines, accounts and remotes") struct ErrorTextTests {
    private struct Cause: Error, CustomStringConvertible { let description: String }

    @Test("The text has the affected operations or nodes, and the number of the others")
    func details() {
        let error = PipelineError(.alreadyFinished, "Use each id only once.", operations: [5, 7])
        #expect("\(error)" == "alreadyFinished: Use each id only once.\n  - operation 5\n  - operation 7")
        let lines = "\(CloudError(.stalled, "It waits.", nodes: Array(101...112)))".split(separator: "\n")
        #expect(lines.count == 12 && lines[0] == "stalled: It waits." && lines[10] == "  - node 110")
        #expect(lines[11] == "  - and 2 more")
    }

    @Test("An operation or a key is named although the message contains a longer one")
    func wholeWords() {
        let error = PipelineError(.invalidArgument, "It is before operation 12.", operations: [1, 12])
        #expect("\(error)" == "invalidArgument: It is before operation 12.\n  - operation 1")
        let remote = RemoteError(.occupied, "'home/letters' is a folder.", key: RemoteKey(["home", "letter"]))
        #expect("\(remote)" == "occupied: 'home/letters' is a folder.\n  - home/letter")
    }

    @Test("The text of a remote's error has the key, if the message does not name it")
    func key() {
        let key = RemoteKey(["home", "letter"])
        let error = RemoteError(.damagedContent, "The file was changed while it was read.", key: key)
        #expect("\(error)" == "damagedContent: The file was changed while it was read.\n  - home/letter")
        let naming = RemoteError(.notFound, "'home/letter' does not exist.", key: key)
        #expect("\(naming)" == "notFound: 'home/letter' does not exist.")
    }

    @Test("The text ends with the cause, unless the message quotes it")
    func cause() {
        let cause = Cause(description: "refused) (errno: 111)")
        let error = RemoteError(.untrusted, "The certificate is not trusted.", underlying: cause)
        #expect("\(error)" == "untrusted: The certificate is not trusted.\n  caused by: refused) (errno: 111)")
        let quoting = RemoteError(.unreachable, "It cannot be reached: refused (errno: 111)", underlying: cause)
        #expect("\(quoting)" == "unreachable: It cannot be reached: refused (errno: 111)")
        let outer = CloudError(.noSuchNode, "x: The certificate is not trusted.", underlying: error)
        #expect("\(outer)" == "noSuchNode: x: The certificate is not trusted.")
    }
}
