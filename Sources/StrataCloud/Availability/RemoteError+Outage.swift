extension RemoteError {
    /// Whether the error concerns the remote or the connection to it, not the request.
    ///
    /// The same request may succeed later, and other requests would fail now as well.
    var isOfRemote: Bool {
        switch code {
        case .unreachable, .answerLost, .throttled: true
        // A 408 means that the server did not receive the rest of a request in time. A 502 or 504 means that a gateway
        // does not reach its upstream server. A 503 means that the server is overloaded (RFC 9110, 15.6).
        case .unavailable: retryAfter != nil || status.map { [408, 502, 503, 504].contains($0) } ?? false
        default: false
        }
    }

    /// Whether the server itself has asked for a pause.
    var isRefusalOfAll: Bool { isOfRemote && code != .unreachable && code != .answerLost }
}
