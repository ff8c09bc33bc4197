import Coffer
import CofferBase
import CofferDBus
import CofferEngine

/// Prompts. Every prompt ends with the signal `Completed`, to its owner alone.
extension ServiceHost {
    /// Adds a prompt and returns its path.
    func addPrompt(_ action: ServicePrompt.Action, for owner: String) throws(ServiceError) -> String {
        let own = prompts.values.count { $0.owner.hasSameBytes(as: owner) }
        guard own < ServicePrompt.limitPerOwner, prompts.count < ServicePrompt.limit else {
            throw .limit("There are too many prompts. Finish or dismiss some.")
        }
        lastPrompt += 1
        prompts[lastPrompt] = ServicePrompt(
            owner: owner, action: action, end: Clock.sinceBoot + ServicePrompt.time)
        return ServiceName.prompt(lastPrompt)
    }

    func callPrompt(_ number: Int, _ call: ServedCall) async throws(ServiceError) -> [BusContent] {
        guard let prompt = prompts[number], prompt.owner.hasSameBytes(as: call.sender) else {
            throw .noSuchObject
        }
        guard call.member.hasSameBytes(as: "Prompt") else {
            completeAfterAnswer(number, nil)
            return []
        }
        guard !prompt.isShown else { return [] }
        prompts[number]?.isShown = true
        if await unlockSilently() {
            if prompts[number] != nil { completeAfterAnswer(number, await perform(prompt.action)) }
        } else if interaction == .never {
            completeAfterAnswer(number, nil)
        } else {
            tell("A program waits for the vault to be unlocked.")
        }
        return []
    }

    /// Ends the prompts that waited for the unlock.
    func completeUnlocked() async {
        for (number, prompt) in prompts.sorted(by: { $0.key < $1.key }) where prompt.isShown {
            complete(number, await perform(prompt.action))
        }
    }

    /// Does what a prompt's owner asked for; returns `nil` if that is not possible now.
    private func perform(_ action: ServicePrompt.Action) async -> BusContent? {
        do throws(ServiceError) {
            switch action {
            case .unlock(let paths): return .paths(paths.filter { collection(at: $0) != nil })
            case .createCollection(let label, let alias):
                return .path(ServiceName.collection(try await addCollection(label: label, alias: alias)))
            case .deleteItem(let key): try await deleteItem(key)
            case .deleteCollection(let id): try await deleteCollection(id)
            }
            return .text("")
        } catch {
            tell(error.text)
            return nil
        }
    }

    private func completeAfterAnswer(_ number: Int, _ result: BusContent?) {
        guard let prompt = prompts.removeValue(forKey: number) else { return }
        let bus = bus
        pendingSignals.append { Self.signal(bus, number, prompt, result) }
    }

    /// Ends a prompt, dismissed if there is no result.
    func complete(_ number: Int, _ result: BusContent?) {
        guard let prompt = prompts.removeValue(forKey: number) else { return }
        Self.signal(bus, number, prompt, result)
    }

    private static func signal(
        _ bus: any ServiceBus, _ number: Int, _ prompt: ServicePrompt, _ result: BusContent?
    ) {
        let empty: BusContent =
            switch prompt.action {
            case .unlock: .paths([])
            case .createCollection: .path(ServiceName.none)
            case .deleteItem, .deleteCollection: .text("")
            }
        bus.emit(
            ServiceName.prompt(number), ServiceName.prompt, "Completed",
            [.flag(result == nil), .variant(result ?? empty)], to: prompt.owner)
    }
}
