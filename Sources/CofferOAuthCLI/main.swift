import CofferCommandLine
import CofferEngine

// coffer asked for immediate binding. A browser that this program starts is none of its concern.
CompanionProgram.start(OAuthRoot.self, withdrawing: ImmediateBinding.withdraw)
MainExecutor.run { await OAuthRoot.start(ProgramArguments.all) }
