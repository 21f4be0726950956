import Hummingbird
import Logging
import Strata

/// The pages, also those that report failures.
extension StoreConsole {
    /// The answer with a page, or with an explanation if the models of the page were not opened.
    func show(_ page: any ConsolePage, _ request: ConsoleRequest, _ query: ConsoleFields) async throws -> Response {
        let notice = query.text("notice").flatMap { notices.text($0) }
        guard store.has(page.needs) else {
            let values = UnopenedValues(models: page.needs == .queues ? "queues" : "accounts")
            return view(.unopened, PageContent(title: page.title, values), request, current: page.path, notice: notice)
        }
        var content = try await page.content(request)
        content.title = content.title ?? page.title
        return view(page.template, content, request, current: page.path, notice: notice)
    }

    /// A page with the layout of the console.
    ///
    /// - Parameter isKnown: whether the person may use the console. Otherwise, the page shows no values of the store.
    func view(
        _ template: PageTemplate,
        _ content: PageContent,
        _ request: ConsoleRequest,
        status: HTTPResponse.Status = .ok,
        current: String? = nil,
        notice: String? = nil,
        isKnown: Bool = true
    ) -> Response {
        let values = LayoutValues(
            consoleTitle: ViewText.line(options.title),
            title: ViewText.line(content.title ?? ""),
            base: request.base,
            commit: isKnown ? feed.position.commit : 0,
            formToken: request.allowsChanges ? access.formToken : nil,
            person: request.allowsChanges ? request.person.map { ViewText.line($0) } : nil,
            groups: isKnown ? NavigationView.all(current: current, base: request.base) : [],
            notice: notice,
            pageTemplate: template.name,
            content: content.values
        )
        return Response(
            status: status,
            headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: Templates.render(values)))
        )
    }

    /// The answer with a page that reports a failure.
    ///
    /// - Parameters:
    ///   - base: the relative address of the console's root.
    ///   - person: the name of the person, as far as the application knows it.
    func failurePage(
        for error: any Error,
        _ request: Request,
        _ target: ConsoleRoute.Target,
        _ base: String,
        _ person: String?
    ) -> Response {
        let failure = ConsoleError(error)
        if failure.isFault {
            options.logger.error("The console could not answer a request: \(ViewText.line("\(error)", to: 2000))")
        } else if failure.status == .forbidden {
            options.logger.info("The console has refused a request: \(ViewText.line(failure.message, to: 2000))")
        }
        // A person who is not known sees nothing but the message.
        let isKnown = access.allowsHost(of: request) && access.isAuthenticated(request)
        let query = isKnown ? (try? ConsoleFields(parsing: request.uri.query ?? "")) : nil
        let values = FailureValues(
            status: failure.status.code,
            message: ViewText.line(failure.message, to: 2000),
            back: query.flatMap { ReturnLink.link(for: target, $0, failure.status, base: base) }
        )
        var response = view(
            .failure,
            PageContent(title: failure.status.reasonPhrase, values),
            ConsoleRequest(self, base, ConsoleFields(), person: isKnown ? person : nil),
            status: failure.status,
            isKnown: isKnown
        )
        if let allowed = failure.allowedMethods { response.headers[.allow] = allowed }
        return response
    }
}
