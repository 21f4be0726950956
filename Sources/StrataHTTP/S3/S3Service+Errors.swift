import Foundation
import StrataRemotes

/// Error codes are those of the chapter "Error responses" of the S3 API Reference.
extension S3Service {
    /// Converts an unsuccessful answer into an error.
    func error(_ answer: HTTPAnswer) async -> RemoteError {
        let data: Data
        do { data = try await answer.data(limit: 1 << 20) } catch {
            // The status alone says most of it.
            data = Data()
        }
        return error(answer, document: XMLNode.parse(data))
    }

    func error(_ answer: HTTPAnswer, document: XMLNode?) -> RemoteError {
        let code = document?.name == "Error" ? document?.text(of: "Code") : nil
        let words = document?.text(of: "Message").map { String($0.prefix(500)) }
        let retryAfter = answer.retryAfter
        var message = "\(endpoint.authority) answers \(code ?? "\(answer.status)")" + (words.map { ": \($0)" } ?? ".")
        if let hint = hint(answer, code: code) { message += " \(hint)" }
        return RemoteError(
            code.flatMap(Self.kind) ?? HTTPStatus.kind(answer.status, hasRetryAfter: retryAfter != nil),
            message,
            key: answer.key,
            status: answer.status,
            retryAfter: retryAfter
        )
    }

    private static func kind(_ code: String) -> RemoteError.Code? {
        switch code {
        case "NoSuchKey", "NoSuchVersion": .notFound
        case "NoSuchBucket", "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidBucketName",
            "TemporaryRedirect",
            "IllegalLocationConstraintException", "RequestTimeTooSkewed":
            .misconfigured
        case "NoSuchUpload", "InvalidPart": .uploadGone
        case "PreconditionFailed", "ConditionalRequestConflict", "OperationAborted": .conditionFailed
        case "SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
            "InvalidSecurity", "NotSignedUp":
            .unauthorized
        case "AccessDenied", "AllAccessDisabled", "AccountProblem": .forbidden
        case "SlowDown", "RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequests": .throttled
        case "InternalError", "ServiceUnavailable", "OperationTimedOut": .unavailable
        // The request body has not arrived, or only partly.
        case "RequestTimeout", "IncompleteBody": .answerLost
        case "EntityTooLarge", "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage": .outOfSpace
        case "KeyTooLongError", "KeyTooLong", "XMinioInvalidObjectName", "InvalidURI": .invalidKey
        case "InvalidRange": .rangeNotSatisfiable
        case "NotImplemented", "MethodNotAllowed": .unsupported
        case "BadDigest", "XAmzContentSHA256Mismatch": .damagedContent
        default: nil
        }
    }

    private func hint(_ answer: HTTPAnswer, code: String?) -> String? {
        switch code {
        case "RequestTimeTooSkewed":
            guard let date = answer.date else { return "This machine's clock or the server's is wrong." }
            let seconds = Int(now().timeIntervalSince(date))
            return
                "This machine's clock is \(abs(seconds)) s \(seconds < 0 ? "behind" : "ahead of") the server's clock. "
                + "Set the right time."
        case "NoSuchBucket": return "The bucket '\(location.bucket)' does not exist. Create it first."
        case "PermanentRedirect", "AuthorizationHeaderMalformed", "TemporaryRedirect":
            let region = answer["x-amz-bucket-region"].map { "the bucket is in \($0)" } ?? "check the bucket's region"
            return "Requests are signed for \(location.region); \(region)."
        default:
            guard (300..<400).contains(answer.status) else { return nil }
            return "Redirects are not followed; set the endpoint, the region or the addressing."
        }
    }
}
