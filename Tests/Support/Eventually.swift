/// Asks again until a condition holds, and returns whether it came to hold in time.
///
/// For what another thread, another process or the kernel does after a moment.
public func eventually(
    within limit: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
    _ condition: () async -> Bool
) async -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + limit
    while clock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return await condition()
}
