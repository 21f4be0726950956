import StrataRemotes

/// Maps HTTP status codes to error codes, if the answer says nothing more specific (RFC 9110, 15; RFC 4918, 11; RFC
/// 6585).
enum HTTPStatus {
    static func kind(_ status: Int, hasRetryAfter: Bool) -> RemoteError.Code {
        switch status {
        case 300..<400: .misconfigured
        case 401, 407: .unauthorized
        case 403: .forbidden
        case 404, 410: .notFound
        case 405, 501: .unsupported
        case 412: .conditionFailed
        case 413, 507: .outOfSpace
        case 414: .invalidKey
        case 416: .rangeNotSatisfiable
        case 429: .throttled
        case 503 where hasRetryAfter: .throttled
        case 408, 423, 425, 500..<600: .unavailable
        default: .refused
        }
    }
}
