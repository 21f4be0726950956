import Foundation
import Testing

@testable import StrataRemotes

@Suite struct SystemErrorTests {
    @Test(
        "Errors of the file system have codes",
        arguments: [
            (ENOSPC, RemoteError.Code.outOfSpace), (EDQUOT, .outOfSpace), (EFBIG, .outOfSpace),
            (ENAMETOOLONG, .invalidKey),
            (EACCES, .forbidden), (EROFS, .forbidden), (ENOENT, .notFound), (ENOTDIR, .parentMissing),
            (EISDIR, .occupied),
            (ENOTEMPTY, .notEmpty), (EXDEV, .unsupported), (EIO, .unavailable), (EMFILE, .unavailable),
        ]
    )
    func fileSystemErrors(system: CInt, code: RemoteError.Code) {
        let error = RemoteError(SystemError(code: system, call: "write"), key: RemoteKey(["a"]), remote: "file:///x/")
        #expect(error.code == code)
        #expect(error.message.contains("file:///x/") && error.key == RemoteKey(["a"]))
    }

    @Test("Keys are equal if their bytes are")
    func equalKeys() {
        let (one, two) = (RemoteKey(["\u{e4}"]), RemoteKey(["a\u{308}"]))
        #expect(one != two)
        #expect(Set([one, two, one]).count == 2)
        #expect(!two.appending("x").isWithin(one) && one.appending("x").isWithin(one))
    }
}
