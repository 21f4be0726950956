import Hummingbird

/// A file that pages load from the console. There are no others.
struct ConsoleAsset: Sendable {
    let path: String
    let type: String
    let text: String

    static let all: [ConsoleAsset] = [
        ConsoleAsset(
            path: "style.css",
            type: "text/css; charset=utf-8",
            text: StyleSheet.text + StyleSheet.charts + StyleSheet.operations
        ),
        ConsoleAsset(path: "script.js", type: "text/javascript; charset=utf-8", text: Script.text),
        ConsoleAsset(path: "icon.svg", type: "image/svg+xml", text: icon),
    ]

    private static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3b6ea8" d="M8 1 1 4.5 8 8l7-3.5zM1 \
        8l7 3.5L15 8M1 11.5 8 15l7-3.5"/></svg>
        """

    var response: Response {
        Response(
            status: .ok,
            headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}
