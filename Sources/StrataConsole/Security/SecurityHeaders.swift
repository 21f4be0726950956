import Hummingbird

/// The header fields of every answer of the console.
enum SecurityHeaders {
    /// Only files of the console itself load. If markup from a store ever got into a page, it could do nothing.
    private static let policy = """
        default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
        form-action 'self'; frame-ancestors 'none'; base-uri 'none'
        """

    static func add(to response: inout Response) {
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.xContentTypeOptions] = "nosniff"
        // Not `no-referrer`: browsers would then hide the origin of forms, which the console checks.
        response.headers[HeaderNames.referrerPolicy] = "same-origin"
        response.headers[.cacheControl] = "no-store"
    }
}
