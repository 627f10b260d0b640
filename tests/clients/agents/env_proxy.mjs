// Preload for Node before 22.21: makes the global fetch honour HTTP(S)_PROXY and NO_PROXY.
import { EnvHttpProxyAgent, setGlobalDispatcher } from "undici";
setGlobalDispatcher(new EnvHttpProxyAgent());
