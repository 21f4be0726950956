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
    /// The time of this attempt.
    var date = Date()

    /// The mail in the format of RFC 5322. Subject and text are encoded, so that they cannot add headers.
    var data: Data {
        let lines = [
            "Message-ID: <\(id)@\(MailAddress.domain(of: sender))>",
            "Date: \(Self.format(date))",
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

extension MailMessage {
    /// A date of RFC 5322, such as `Mon, 30 Nov 2026 15:10:27 +0000`.
    static func format(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone.gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss '+0000'"
        return formatter.string(from: date)
    }
}

/// Writes each mail into a file, `ID.eml`. A repeat replaces the file of the first attempt. The file is on the disk when
/// `send` returns, because the operation of the mail ends then.
struct FolderMailer: Mailer {
    let folder: URL

    func send(_ message: MailMessage) async throws {
        let file = folder.appending(path: message.id + ".eml")
        try await BlockingWork.run {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let draft = folder.appending(path: "." + UUID().uuidString + Self.ending)
            do {
                let writer = try DraftFile(draft)
                try message.data.withUnsafeBytes { try writer.append($0) }
                try writer.keep(as: file)
            } catch {
                try? FileManager.default.removeItem(at: draft)
                throw error
            }
        }
    }

    private static let ending = ".press-mail"

    /// Removes the incomplete files of a process that was killed. Only one service may use the folder.
    func removeDrafts() throws {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name.hasPrefix(".") && name.hasSuffix(Self.ending) {
            try FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }
}
