import Foundation

/// Delivers mails.
///
/// The pipeline calls the mailer again after an error, and after the end of a process in the middle of a call. A repeat
/// has the same id. A mailer passes this id on as the `Message-ID`, or as the idempotency key of a mail service, so that
/// the receiver gets one mail.
protocol Mailer: Sendable {
    func send(_ message: MailMessage) async throws
}

/// A mail.
struct MailMessage: Sendable {
    /// The same for all attempts to send this mail, and different for each mail.
    let id: String
    let sender: String
    let recipient: String
    let subject: String
    let text: String

    /// The mail in the format of RFC 5322. Subject and text are encoded, so that they cannot add headers.
    var data: Data {
        let lines = [
            "Message-ID: <\(id)@\(MailAddress.domain(of: sender))>",
            "From: \(sender)",
            "To: \(recipient)",
            "Subject: =?UTF-8?B?\(Data(subject.utf8).base64EncodedString())?=",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: base64",
            "",
            Data(text.utf8).base64EncodedString(options: [
                .lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
            ]),
            "",
        ]
        return Data(lines.joined(separator: "\r\n").utf8)
    }
}

/// Writes each mail into a file, `ID.eml`. A repeat replaces the file of the first attempt.
struct FolderMailer: Mailer {
    let folder: URL

    func send(_ message: MailMessage) async throws {
        let file = folder.appending(path: message.id + ".eml")
        try await BlockingWork.run {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try message.data.write(to: file, options: .atomic)
        }
    }
}
