/* Written by keras_tasks.py: what Keras 3.15.1 says while it trains. */
/* clang-format off */
static const double line_SGD_losses[] = {
    0.441555798, 0.166947782, 0.419777334, 0.152917191, 0.127348945, 0.359308571, 0.135137901, 0.34168309, 0.123266816, 0.0964512378,
    0.291472793, 0.110504836, 0.278122395, 0.100223564, 0.0743219256, 0.236747116, 0.0911458135, 0.226957321, 0.0820761621, 0.0578500926,
    0.192881137, 0.0757962689, 0.185864627, 0.0676744953, 0.0453897379, 0.15774022, 0.0635422543, 0.152825981, 0.056180574, 0.0358925052,
    0.129542246, 0.0536990054, 0.126198798, 0.0469615161, 0.0286207311, 0.106857635, 0.045744542, 0.104675092, 0.0395314954, 0.0230319966,
    0.0885540992, 0.039277222, 0.0872200578, 0.0335143171, 0.0187203418, 0.0737382919, 0.0339862183, 0.0730161816, 0.0286172889, 0.0153797632,
    0.0617050566, 0.0296299458, 0.0614167452, 0.0246116798, 0.0127789481, 0.0518974774, 0.0260199308, 0.0519096553, 0.0213182364, 0.0107427891,
    0.0438747108, 0.0230085645, 0.0440881886, 0.0185959358, 0.00913848728, 0.0372871161, 0.0204798263, 0.0376287103, 0.0163334943, 0.00786537305,
    0.0318568908, 0.0183421522, 0.0322731659, 0.0144427717, 0.00684694294, 0.0273626782, 0.0165229663, 0.0278151743, 0.012853723, 0.00602504564,
    0.0236277692, 0.0149645396, 0.0240892414, 0.0115105053, 0.00535539538, 0.0205106717, 0.0136207137, 0.0209623482, 0.0103683975, 0.00480419258,
    0.0178979523, 0.0124544576, 0.0183272827, 0.00939150341, 0.00434562471, 0.0156983081, 0.0114359073, 0.0160973854, 0.00855087675, 0.003959917,
};
static const double line_SGD_epochs_loss[] = {
    0.276638359, 0.223915994, 0.181663215, 0.147966996, 0.121091433, 0.0996078402, 0.0823804289, 0.0685166195, 0.0573168583, 0.0482328571,
    0.0408339761, 0.0347814895, 0.0298081432, 0.0257026292, 0.0222974345, 0.0194593463, 0.0170821678, 0.01508094, 0.0133875571, 0.0119472072,
};
static const double line_SGD_epochs_mae[] = {
    0.468330115, 0.416752666, 0.371957481, 0.332491785, 0.297926903, 0.270265043, 0.246475995, 0.225108355, 0.205895483, 0.188601837,
    0.173018932, 0.158962384, 0.14626871, 0.134792924, 0.124406442, 0.11499507, 0.106457405, 0.0991117656, 0.093182005, 0.088473767,
};
static const double line_SGD_evaluated_loss[] = {
    0.0107637011,
};
static const double line_SGD_evaluated_mae[] = {
    0.0838785619,
};
static const double line_SGD_weights_y_kernel[] = {
    1.60836589, -1.06031656, 0.148733959,
};
static const double line_SGD_weights_y_bias[] = {
    0.254680485,
};
static const double line_Adam_losses[] = {
    0.441555798, 0.168794438, 0.456216216, 0.163177803, 0.113008484, 0.394855559, 0.156132847, 0.415156424, 0.150135636, 0.108019084,
    0.361942649, 0.144605845, 0.381635368, 0.138101965, 0.100534752, 0.332880437, 0.133763671, 0.351549566, 0.126853809, 0.092332162,
    0.306436032, 0.123563521, 0.324007332, 0.116339117, 0.0841405094, 0.282140613, 0.113989785, 0.298616797, 0.106529154, 0.0763333067,
    0.259732902, 0.105027795, 0.275140882, 0.0973978564, 0.0691050068, 0.239032298, 0.096659407, 0.253407687, 0.0889174119, 0.0625421628,
    0.2198973, 0.0888628289, 0.233279511, 0.0810578391, 0.0566624105, 0.202209741, 0.0816135854, 0.214640111, 0.0737879425, 0.0514402054,
    0.18586722, 0.0748859122, 0.19738844, 0.0670762435, 0.0468250662, 0.170778781, 0.0686534569, 0.181434646, 0.0608918741, 0.042754475,
    0.156862006, 0.0628902763, 0.166696757, 0.0552049689, 0.0391626693, 0.144040614, 0.05757121, 0.153098837, 0.0499871075, 0.0359862782,
    0.132243067, 0.0526720174, 0.140568912, 0.0452110767, 0.0331674255, 0.121400975, 0.0481695347, 0.129038185, 0.040851064, 0.0306553002,
    0.111448959, 0.0440415181, 0.118440032, 0.0368822478, 0.0284064598, 0.10232389, 0.0402666181, 0.108710252, 0.0332808383, 0.0263844132,
    0.093965061, 0.0368241444, 0.0997866765, 0.0300236735, 0.0245588757, 0.0863143578, 0.0336938873, 0.0916096494, 0.0270882212, 0.0229048301,
};
static const double line_Adam_epochs_loss[] = {
    0.285833001, 0.260064483, 0.239234045, 0.22026968, 0.202759162, 0.186542898, 0.171522662, 0.157619536, 0.144761935, 0.13288255,
    0.121917859, 0.111808009, 0.102496743, 0.0939313099, 0.086061947, 0.078841649, 0.0722257718, 0.066171959, 0.06063978, 0.0555907823,
};
static const double line_Adam_epochs_mae[] = {
    0.463566989, 0.448340297, 0.431035995, 0.413126945, 0.395079285, 0.377152562, 0.359518647, 0.343848348, 0.330350995, 0.317142725,
    0.304244846, 0.291672528, 0.27943626, 0.267543316, 0.255998343, 0.244804591, 0.233963862, 0.223477393, 0.213345543, 0.203568235,
};
static const double line_Adam_evaluated_loss[] = {
    0.0521751307,
};
static const double line_Adam_evaluated_mae[] = {
    0.196988806,
};
static const double line_Adam_weights_y_kernel[] = {
    1.16106057, -0.947710991, -0.0476882234,
};
static const double line_Adam_weights_y_bias[] = {
    0.267235011,
};
static const double table_SGD_losses[] = {
    1.15753508, 1.33417165, 1.59368634, 1.05170488, 1.10128474, 1.08255267, 1.25928962, 1.46420777, 0.990338802, 1.02732921,
    1.03172219, 1.20964003, 1.37981915, 0.953198075, 0.975024223, 1.00504541, 1.17034006, 1.32143569, 0.920599699, 0.926482797,
    0.981148899, 1.13764119, 1.27262163, 0.891914308, 0.875935316, 0.962427616, 1.1104064, 1.23288357, 0.857778192, 0.825883448,
    0.937853217, 1.08586133, 1.19554722, 0.818567634, 0.764629364, 0.905480504, 1.06052184, 1.1596781, 0.776522994, 0.700114012,
    0.870181143, 1.03674293, 1.12528515, 0.731629968, 0.633074105, 0.831586301, 1.01260769, 1.08886147, 0.689596534, 0.567034841,
    0.789898515, 0.987552166, 1.05280232, 0.647538304, 0.502212942, 0.746370375, 0.958422959, 1.01101828, 0.605312943, 0.435454249,
    0.704198539, 0.918223083, 0.961757302, 0.560480595, 0.377882063, 0.657278478, 0.855551362, 0.918605685, 0.518341839, 0.322692037,
    0.611656666, 0.805688262, 0.879050493, 0.476492822, 0.277794123, 0.569973409, 0.751629949, 0.835499763, 0.437132955, 0.238335148,
    0.528493166, 0.702494919, 0.803328156, 0.402301401, 0.206968337, 0.49055022, 0.654793203, 0.759966791, 0.370322227, 0.180875525,
    0.454623193, 0.613102317, 0.722765863, 0.339558005, 0.162109077, 0.421019465, 0.579114735, 0.683119357, 0.311929047, 0.141594827,
};
static const double table_SGD_epochs_accuracy[] = {
    0.388888896, 0.388888896, 0.5, 0.555555582, 0.611111104, 0.666666687, 0.722222209, 0.722222209, 0.722222209, 0.722222209,
    0.722222209, 0.722222209, 0.722222209, 0.722222209, 0.722222209, 0.777777791, 0.833333313, 0.833333313, 0.833333313, 0.888888896,
};
static const double table_SGD_epochs_loss[] = {
    1.26394224, 1.18001187, 1.12486482, 1.08459163, 1.04917645, 1.01698613, 0.982254267, 0.944946826, 0.906750262, 0.868037641,
    0.828643978, 0.786411524, 0.740800142, 0.691360712, 0.647063375, 0.602978528, 0.564467013, 0.525793314, 0.491356373, 0.459106654,
};
static const double table_SGD_evaluated_accuracy[] = {
    0.888888896,
};
static const double table_SGD_evaluated_loss[] = {
    0.432292342,
};
static const double table_SGD_weights_place_embeddings[] = {
    0.38916111, 0.198087037, -0.402393043, 0.187448293, -0.334360629, 0.334621876, -0.110368252, -0.545908988,
};
static const double table_SGD_weights_hidden_kernel[] = {
    -0.0294077732, -0.219224378, 0.173456535, 0.26327607, 0.252831608, -0.154454172, 0.769215524, 0.000989211956,
};
static const double table_SGD_weights_hidden_bias[] = {
    0.0910285413, 0.307366282, 0.534065843, -0.411967695, 0.00923919864, 0.373849332,
};
static const double table_SGD_weights_offer_kernel[] = {
    0.629481316, 0.565250099, 0.513901591, -0.0471495464, -0.345108986, -0.709202468,
};
static const double table_SGD_weights_offer_bias[] = {
    0.110068053, -0.128840774, 0.159397706,
};
static const double table_Adam_losses[] = {
    1.15753508, 1.33413219, 1.60768867, 1.04902196, 1.09814596, 1.06456733, 1.23587251, 1.47369027, 0.986862063, 1.03907049,
    1.01025057, 1.17566276, 1.37296879, 0.944953918, 0.978534341, 0.98742044, 1.12674952, 1.29175115, 0.907795668, 0.916806936,
    0.967800498, 1.08153296, 1.22168314, 0.868604779, 0.851263463, 0.940466285, 1.0358305, 1.15705705, 0.824928761, 0.780394435,
    0.898869336, 0.987527192, 1.10013795, 0.7717309, 0.704054654, 0.848829389, 0.93945533, 1.0411135, 0.707040489, 0.624260664,
    0.791393816, 0.876650751, 0.981339335, 0.63997519, 0.547713399, 0.730474353, 0.80845505, 0.924732327, 0.571290493, 0.481617242,
    0.666552246, 0.74389106, 0.869839311, 0.50205642, 0.408977628, 0.603257716, 0.673817217, 0.817273021, 0.433085859, 0.328167111,
    0.540504515, 0.608777165, 0.765581131, 0.366820723, 0.259748161, 0.479381174, 0.547124028, 0.723625422, 0.304449439, 0.208397746,
    0.418981463, 0.492942512, 0.686062932, 0.247008711, 0.167846978, 0.360294908, 0.447074056, 0.633551598, 0.196441978, 0.136582211,
    0.302933067, 0.412677884, 0.550440848, 0.153084502, 0.111784697, 0.248733833, 0.38424468, 0.467124045, 0.117962807, 0.0921145901,
    0.201359481, 0.357881099, 0.39365527, 0.0909984782, 0.0752678737, 0.161735997, 0.332183748, 0.325698853, 0.0720529854, 0.0610168576,
};
static const double table_Adam_epochs_accuracy[] = {
    0.388888896, 0.388888896, 0.555555582, 0.555555582, 0.666666687, 0.666666687, 0.722222209, 0.722222209, 0.722222209, 0.722222209,
    0.722222209, 0.722222209, 0.777777791, 0.777777791, 0.777777791, 0.777777791, 0.944444418, 0.944444418, 1, 1,
};
static const double table_Adam_epochs_loss[] = {
    1.26610017, 1.17345047, 1.10957861, 1.06047118, 1.01450062, 0.966328859, 0.913398445, 0.855237544, 0.791825712, 0.727946877,
    0.663739443, 0.598114967, 0.535901725, 0.479728699, 0.42864868, 0.379034162, 0.327784151, 0.280916154, 0.240339622, 0.204928875,
};
static const double table_Adam_evaluated_accuracy[] = {
    1,
};
static const double table_Adam_evaluated_loss[] = {
    0.183118641,
};
static const double table_Adam_weights_place_embeddings[] = {
    0.100582205, 0.107735924, -0.241996229, 0.0473462455, -0.19424431, 0.527544498, -0.307133585, -0.872006774,
};
static const double table_Adam_weights_hidden_kernel[] = {
    -0.284060329, -0.094786413, 0.117657259, 0.318749815, 0.430709213, -0.0497191958, 0.814928949, -0.180789828,
};
static const double table_Adam_weights_hidden_bias[] = {
    0.351508141, 0.147835448, 0.377612621, -0.548067629, 0.298969358, 0.286202431,
};
static const double table_Adam_weights_offer_kernel[] = {
    0.801117659, 0.466751754, 0.483007967, -0.0773420185, -0.867514133, -0.851356447,
};
static const double table_Adam_weights_offer_bias[] = {
    0.183174551, -0.0610027499, -0.031876903,
};
static const double sequences_SGD_losses[] = {
    0.678173721, 0.722853839, 0.650434792, 0.65635407, 0.668728888, 0.675926149, 0.719374061, 0.64435631, 0.653996944, 0.665611029,
    0.673589587, 0.71655935, 0.637811184, 0.650725961, 0.662248909, 0.671108544, 0.714239299, 0.630720258, 0.646593213, 0.658587158,
    0.668434203, 0.71227777, 0.623005033, 0.641629219, 0.65457195, 0.665520549, 0.710562706, 0.614585459, 0.635845959, 0.650148511,
    0.662321448, 0.70899874, 0.605379105, 0.629240215, 0.645259142, 0.658788979, 0.707502127, 0.595301151, 0.621797025, 0.639842749,
    0.654872179, 0.705996275, 0.584265709, 0.613492966, 0.633834362, 0.650516391, 0.704408169, 0.572187662, 0.604299605, 0.627165079,
    0.645662665, 0.702665925, 0.558986425, 0.594187677, 0.619763255, 0.64024806, 0.700696409, 0.544589579, 0.583131433, 0.611555576,
    0.634205699, 0.698423505, 0.528939009, 0.57111311, 0.602469563, 0.627466381, 0.695766628, 0.511997581, 0.558127999, 0.592436552,
    0.619959831, 0.692640722, 0.493756175, 0.544188797, 0.581395149, 0.611617029, 0.688955188, 0.474241138, 0.529329002, 0.569295764,
    0.602373421, 0.684615433, 0.453520834, 0.513604343, 0.556105077, 0.592172146, 0.679523647, 0.431709886, 0.497092694, 0.541810393,
    0.580967784, 0.673581481, 0.408970088, 0.479889989, 0.526423216, 0.568730295, 0.666692793, 0.385507286, 0.46210435, 0.509981811,
};
static const double sequences_SGD_epochs_binary_accuracy[] = {
    0.666666687, 0.666666687, 0.666666687, 0.666666687, 0.666666687, 0.666666687, 0.777777791, 0.777777791, 0.777777791, 0.777777791,
    0.833333313, 0.833333313, 0.833333313, 0.888888896, 0.888888896, 0.888888896, 0.888888896, 0.888888896, 0.888888896, 0.944444418,
};
static const double sequences_SGD_epochs_loss[] = {
    0.676040232, 0.672546387, 0.668846846, 0.664878786, 0.660584927, 0.655908644, 0.650793195, 0.645180166, 0.639009833, 0.632220984,
    0.624752104, 0.616542995, 0.607536912, 0.597683787, 0.586942911, 0.575286686, 0.562703729, 0.549200773, 0.534804642, 0.519561231,
};
static const double sequences_SGD_evaluated_binary_accuracy[] = {
    0.944444418,
};
static const double sequences_SGD_evaluated_loss[] = {
    0.503346682,
};
static const double sequences_SGD_weights_rows_embeddings[] = {
    -0.5, -0.0614903234, 0.629824758, 0.265254676, 0.379171222, -0.0911092013, 0.215711787, -0.293944538,
};
static const double sequences_SGD_weights_hidden_kernel[] = {
    -0.0525026508, -0.166680112, -0.351814955, -0.483766437, -0.541367412, 0.531694114, 0.353273571,
};
static const double sequences_SGD_weights_hidden_bias[] = {
    -0.146522284, 0.0218841769, 0.316125095, -0.289669275, -0.0848783925,
};
static const double sequences_SGD_weights_good_kernel[] = {
    0.685122967, -0.649503112, 0.286581278, 0.52472645, -0.804030418,
};
static const double sequences_SGD_weights_good_bias[] = {
    0.189038634,
};
static const double sequences_Adam_losses[] = {
    0.678173721, 0.712534726, 0.646496892, 0.662517965, 0.663879395, 0.664897561, 0.688405275, 0.618482769, 0.643770695, 0.648079634,
    0.650221705, 0.677112997, 0.581736147, 0.61421144, 0.626033783, 0.630559921, 0.66601634, 0.535097718, 0.575208187, 0.59653151,
    0.604608595, 0.652105987, 0.478584945, 0.527858257, 0.558495164, 0.571354866, 0.63326478, 0.414185882, 0.474263489, 0.511587679,
    0.5303424, 0.607678056, 0.345990896, 0.417352706, 0.456742704, 0.482008219, 0.574039042, 0.279160678, 0.359977782, 0.396376073,
    0.427890658, 0.532028735, 0.218304634, 0.304172993, 0.334051967, 0.37056011, 0.482723534, 0.166413397, 0.25123781, 0.273710251,
    0.313221246, 0.428525001, 0.124658793, 0.202393249, 0.218834937, 0.259074271, 0.3724944, 0.092669107, 0.159171984, 0.171841681,
    0.210654557, 0.31753093, 0.0690477863, 0.123016365, 0.133752972, 0.169411093, 0.265932292, 0.0519958735, 0.0945028961, 0.104238465,
    0.135664374, 0.219370171, 0.0398045331, 0.0730553567, 0.0820463076, 0.108881555, 0.178944051, 0.031089725, 0.0573542677, 0.0655910075,
    0.0880637988, 0.145139053, 0.0248223003, 0.0459372066, 0.0533934385, 0.0720714256, 0.117793716, 0.0202678479, 0.0375666618, 0.0442709364,
    0.0598294437, 0.0962193906, 0.0169116184, 0.0313282497, 0.0373525135, 0.0504271276, 0.0794476122, 0.0143960193, 0.0265887547, 0.0320212692,
};
static const double sequences_Adam_epochs_binary_accuracy[] = {
    0.555555582, 0.722222209, 0.833333313, 0.888888896, 0.888888896, 0.944444418, 0.944444418, 0.944444418, 0.944444418, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};
static const double sequences_Adam_epochs_loss[] = {
    0.673702896, 0.653243601, 0.630288661, 0.601144016, 0.564978957, 0.521969557, 0.473274559, 0.420749724, 0.366538465, 0.31284222,
    0.261825711, 0.21540682, 0.174916923, 0.140880316, 0.113092795, 0.0909033641, 0.073479794, 0.0599633604, 0.0495477691, 0.0415266939,
};
static const double sequences_Adam_evaluated_binary_accuracy[] = {
    1,
};
static const double sequences_Adam_evaluated_loss[] = {
    0.0367522985,
};
static const double sequences_Adam_weights_rows_embeddings[] = {
    -0.5, -0.106752992, 1.00171566, 1.04544997, 0.579643846, -0.158745512, -0.0840691552, -0.350253463,
};
static const double sequences_Adam_weights_hidden_kernel[] = {
    -0.787445664, -0.965229869, -1.03777742, -1.1099509, -1.40784371, 0.795451283, 0.658640444,
};
static const double sequences_Adam_weights_hidden_bias[] = {
    -0.118127376, 0.0454811305, 0.0638272017, -0.1789805, -0.0300555117,
};
static const double sequences_Adam_weights_good_kernel[] = {
    1.07413876, -1.18304062, 0.796726584, 0.848558843, -1.39271665,
};
static const double sequences_Adam_weights_good_bias[] = {
    0.138157398,
};
static const double mixed_SGD_losses[] = {
    1.30482841, 1.08394039, 1.20717669, 1.24180841, 1.29497766, 1.14208806, 1.02271724, 1.24137414, 1.16216373, 1.14526725,
    1.12448049, 1.01347566, 1.26029241, 1.14262867, 1.10134387, 1.11438346, 1.01127684, 1.25570214, 1.12948978, 1.08160949,
    1.10668361, 1.00988209, 1.24636602, 1.11953259, 1.06198585, 1.10079455, 1.00849748, 1.23831773, 1.11131847, 1.05043435,
    1.09550202, 1.00764489, 1.22812569, 1.10456693, 1.03802085, 1.09102356, 1.00665593, 1.21814024, 1.09816623, 1.03193939,
    1.08665287, 1.00590706, 1.20708311, 1.09253228, 1.02460802, 1.08277524, 1.00482094, 1.19673693, 1.08760154, 1.01633644,
    1.07939088, 1.00367618, 1.18718612, 1.08307397, 1.0088979, 1.07618678, 1.00244939, 1.17737186, 1.07901466, 1.00121999,
    1.07325268, 1.00113893, 1.1684128, 1.07507229, 1.00093067, 1.07045531, 0.998962879, 1.14195967, 1.07163227, 0.989398897,
    1.06851399, 0.994340718, 1.1300627, 1.06853914, 0.982207298, 1.06660461, 0.989989519, 1.12515819, 1.06628346, 0.973265529,
    1.06400836, 0.989581347, 1.11433935, 1.06592977, 0.960643589, 1.06184173, 0.987817764, 1.10530972, 1.06808066, 0.946592808,
    1.06050217, 0.986763954, 1.0961827, 1.06076729, 0.9509027, 1.0573175, 0.978431761, 1.08498251, 1.06662893, 0.933126867,
};
static const double mixed_SGD_epochs_kind_accuracy[] = {
    0.333333343, 0.5, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448,
    0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.5, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448,
};
static const double mixed_SGD_epochs_kind_loss[] = {
    1.13832033, 1.07573676, 1.0654577, 1.05790651, 1.04970455, 1.04432166, 1.03840697, 1.03418159, 1.02934921, 1.02456856,
    1.02021539, 1.01579952, 1.01320827, 1.00448728, 0.999454975, 0.995555103, 0.990394115, 0.985783279, 0.983744979, 0.977313638,
};
static const double mixed_SGD_epochs_loss[] = {
    1.21894288, 1.14243937, 1.13145542, 1.12259054, 1.11410165, 1.10758781, 1.1010778, 1.09554577, 1.08988428, 1.08446741,
    1.0795058, 1.07458508, 1.07074273, 1.06171322, 1.05612445, 1.05214846, 1.04759574, 1.04363251, 1.03992605, 1.03420532,
};
static const double mixed_SGD_epochs_price_loss[] = {
    0.176451936, 0.133970469, 0.125972912, 0.12117143, 0.118371069, 0.115101792, 0.112730309, 0.110006854, 0.108014725, 0.106171288,
    0.104459144, 0.102898195, 0.101106428, 0.0999889523, 0.0985554382, 0.0974103585, 0.0970126837, 0.0962906629, 0.0945574269, 0.0935677886,
};
static const double mixed_SGD_epochs_price_mae[] = {
    0.337336987, 0.273201615, 0.261481345, 0.255878508, 0.253060699, 0.249133661, 0.246815473, 0.244528666, 0.243813485, 0.242897034,
    0.241996706, 0.241187602, 0.23894307, 0.239224851, 0.238304213, 0.238291949, 0.239890411, 0.240717888, 0.238355711, 0.238594562,
};
static const double mixed_SGD_evaluated_kind_accuracy[] = {
    0.5,
};
static const double mixed_SGD_evaluated_kind_loss[] = {
    0.959761977,
};
static const double mixed_SGD_evaluated_loss[] = {
    1.02285898,
};
static const double mixed_SGD_evaluated_price_loss[] = {
    0.0930121765,
};
static const double mixed_SGD_evaluated_price_mae[] = {
    0.233645618,
};
static const double mixed_SGD_weights_edges_kernel[] = {
    -0.561448038, -0.34375, -0.170392796, -0.0474841557, 0.1796875, 0.240566865, -0.530992389,
};
static const double mixed_SGD_weights_edges_bias[] = {
    0.258327842, -0.4765625, -0.282157421,
};
static const double mixed_SGD_weights_hidden_kernel[] = {
    0.109345801, 0.1328125, 0.213966101, 0.320883811, 0.4140625, -0.494776577, -0.40625, -0.392477393,
};
static const double mixed_SGD_weights_hidden_bias[] = {
    -0.152050436, -0.0511406548, 0.316738605, -0.368800849, -0.142014936, 0.149400443, 0.462883502, -0.184625134,
};
static const double mixed_SGD_weights_kind_kernel[] = {
    0.0500116497, -0.0500931852, -0.0238704141, -0.278873503, -0.374109447, -0.426872849, 0.447574198, 0.201768294,
};
static const double mixed_SGD_weights_kind_bias[] = {
    -0.0660015345, 0.260880023, 0.32074663,
};
static const double mixed_SGD_weights_price_kernel[] = {
    0.30504933, -0.183748633, 0.0384929329, 0.177813172, -0.292342365, -0.156903282, 0.144691169, 0.324245453,
};
static const double mixed_SGD_weights_price_bias[] = {
    0.22555086,
};
static const double mixed_Adam_losses[] = {
    1.30482841, 1.08216453, 1.20348799, 1.21680319, 1.28336191, 1.13008046, 1.03330934, 1.19759297, 1.14347887, 1.08506203,
    1.09275997, 1.01835024, 1.23259044, 1.12087476, 1.00887477, 1.07846963, 1.00611556, 1.2371459, 1.10250926, 0.986217499,
    1.06567955, 1.00147843, 1.20017791, 1.08309925, 0.982153654, 1.05077124, 1.00162852, 1.15464842, 1.0661248, 0.980698824,
    1.03684556, 1.00397861, 1.11338723, 1.05376446, 0.971894681, 1.02492237, 1.00128424, 1.08358121, 1.0458777, 0.950478017,
    1.0145179, 0.993190169, 1.06123984, 1.04182661, 0.923614144, 1.00416148, 0.986551106, 1.03684974, 1.03868079, 0.900125086,
    0.99031955, 0.984378636, 1.00604939, 1.03516817, 0.881620765, 0.973191202, 0.983751833, 0.973306239, 1.03390372, 0.863252223,
    0.95547992, 0.980889678, 0.941460252, 1.03626442, 0.843399644, 0.937424242, 0.976974487, 0.908013344, 1.04066563, 0.826891303,
    0.916577637, 0.975049019, 0.871691346, 1.04555786, 0.815954804, 0.893462956, 0.977041543, 0.834083915, 1.05037868, 0.805891693,
    0.873839378, 0.976467133, 0.797401249, 1.0562191, 0.79085201, 0.856863618, 0.975586236, 0.763688862, 1.06351423, 0.776187897,
    0.837627351, 0.976559758, 0.732573628, 1.06606531, 0.778982759, 0.807256699, 0.991005778, 0.687852502, 1.06503415, 0.773820877,
};
static const double mixed_Adam_epochs_kind_accuracy[] = {
    0.388888896, 0.5, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.444444448, 0.555555582,
    0.555555582, 0.555555582, 0.555555582, 0.611111104, 0.666666687, 0.666666687, 0.666666687, 0.611111104, 0.666666687, 0.666666687,
};
static const double mixed_Adam_epochs_kind_loss[] = {
    1.13245547, 1.05560732, 1.0362947, 1.02785313, 1.01480973, 1.00021374, 0.986118197, 0.97250241, 0.959405422, 0.94692421,
    0.934016585, 0.920493305, 0.906943679, 0.893899739, 0.881243527, 0.868789494, 0.855906367, 0.844498932, 0.836186707, 0.822936237,
};
static const double mixed_Adam_epochs_loss[] = {
    1.21088111, 1.1215539, 1.10422504, 1.09274423, 1.07589161, 1.05856049, 1.04309404, 1.02908981, 1.01612926, 1.00362349,
    0.990383565, 0.976839781, 0.963509858, 0.950338483, 0.937078595, 0.923980713, 0.91096729, 0.899499238, 0.88940388, 0.875124335,
};
static const double mixed_Adam_epochs_price_loss[] = {
    0.171347544, 0.124594964, 0.116790637, 0.10847678, 0.103416242, 0.101121284, 0.0997117907, 0.0974525511, 0.0949445516, 0.0926988646,
    0.090981327, 0.0899752751, 0.0891100317, 0.0881879926, 0.0874453038, 0.086764589, 0.0860987455, 0.0853385404, 0.0843502134, 0.0841155201,
};
static const double mixed_Adam_epochs_price_mae[] = {
    0.331358224, 0.275734752, 0.260151178, 0.244388878, 0.240596086, 0.242546424, 0.243053734, 0.239014253, 0.235231459, 0.232830763,
    0.232553646, 0.23375763, 0.234675989, 0.234842509, 0.234844446, 0.234655172, 0.234491035, 0.233899698, 0.232985228, 0.233672857,
};
static const double mixed_Adam_evaluated_kind_accuracy[] = {
    0.666666687,
};
static const double mixed_Adam_evaluated_kind_loss[] = {
    0.811849117,
};
static const double mixed_Adam_evaluated_loss[] = {
    0.864197135,
};
static const double mixed_Adam_evaluated_price_loss[] = {
    0.0830464065,
};
static const double mixed_Adam_evaluated_price_mae[] = {
    0.232309818,
};
static const double mixed_Adam_weights_edges_kernel[] = {
    -0.472030789, -0.34375, -0.224028617, 0.0139322858, 0.1796875, 0.205447301, -0.470846176,
};
static const double mixed_Adam_weights_edges_bias[] = {
    0.266032606, -0.4765625, -0.304760903,
};
static const double mixed_Adam_weights_hidden_kernel[] = {
    0.46976757, 0.1328125, 0.0694590583, 0.333224088, 0.4140625, -0.403485417, -0.40625, -0.513579249,
};
static const double mixed_Adam_weights_hidden_bias[] = {
    -0.233529449, -0.108345091, 0.333457768, -0.294171184, -0.192631081, 0.153084278, 0.537372351, -0.130088523,
};
static const double mixed_Adam_weights_kind_kernel[] = {
    -0.0258421823, -0.0480521098, -0.0662358478, -0.460299283, -0.41056484, -0.358885407, 0.470295757, 0.0178441089,
};
static const double mixed_Adam_weights_kind_bias[] = {
    -0.0502194539, 0.163545579, 0.394741088,
};
static const double mixed_Adam_weights_price_kernel[] = {
    0.278970718, -0.182054728, 0.0424353331, 0.174857304, -0.131423712, -0.130088598, 0.15036279, 0.179697797,
};
static const double mixed_Adam_weights_price_bias[] = {
    0.156225488,
};
static const double labels_SGD_losses[] = {
    0.669320345, 0.842532992, 0.67034936, 0.737366974, 0.736944616, 0.665080667, 0.813622832, 0.666718006, 0.725499272, 0.719423532,
    0.662351489, 0.790549457, 0.664377153, 0.716623485, 0.704435587, 0.660698533, 0.771431923, 0.662949264, 0.709880888, 0.691177845,
    0.65980196, 0.75534296, 0.662226617, 0.704661846, 0.679391861, 0.659529567, 0.74147296, 0.662101686, 0.700733066, 0.668998599,
    0.659773827, 0.729373574, 0.662463903, 0.697834909, 0.659840882, 0.660436332, 0.718725801, 0.663226485, 0.695772648, 0.651758194,
    0.661433756, 0.709349513, 0.664258063, 0.69431442, 0.644750178, 0.662720084, 0.701081753, 0.665477097, 0.69335711, 0.638726354,
    0.664135098, 0.693763852, 0.666809022, 0.692779481, 0.633601189, 0.665627599, 0.687284231, 0.668203592, 0.692464292, 0.629184723,
    0.667143762, 0.681507528, 0.669629216, 0.692321301, 0.625346303, 0.668651164, 0.676371813, 0.671031058, 0.692306399, 0.622062027,
    0.670107424, 0.671811223, 0.672378302, 0.69237113, 0.619271338, 0.671485662, 0.667743862, 0.673675597, 0.692409515, 0.61696291,
    0.672789156, 0.66409862, 0.674863815, 0.69254303, 0.614923358, 0.67398262, 0.660884678, 0.675954044, 0.692672133, 0.613187432,
    0.675070107, 0.658021688, 0.676943064, 0.692785203, 0.611700773, 0.676061869, 0.65545094, 0.677850485, 0.692878962, 0.610434115,
};
static const double labels_SGD_epochs_binary_accuracy[] = {
    0.486111104, 0.486111104, 0.486111104, 0.486111104, 0.5, 0.5, 0.486111104, 0.486111104, 0.583333313, 0.597222209,
    0.541666687, 0.541666687, 0.583333313, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209,
};
static const double labels_SGD_epochs_loss[] = {
    0.730675995, 0.717918277, 0.708026588, 0.700122118, 0.693717659, 0.688519239, 0.684303761, 0.680897832, 0.678162396, 0.67599988,
    0.674286246, 0.672927141, 0.67183888, 0.670975864, 0.670289755, 0.669732451, 0.669279218, 0.668908298, 0.668593407, 0.668324232,
};
static const double labels_SGD_evaluated_binary_accuracy[] = {
    0.597222209,
};
static const double labels_SGD_evaluated_loss[] = {
    0.666430354,
};
static const double labels_SGD_weights_edges_kernel[] = {
    -0.49958536, -0.307134122, -0.213917911, -0.0316747054, 0.0494154207, 0.250849426, 0.34612155, 0.515006065,
};
static const double labels_SGD_weights_edges_bias[] = {
    0.220161974, -0.458039731, -0.188001737, 0.158867553, 0.380737662, -0.333970457,
};
static const double labels_SGD_weights_tags_kernel[] = {
    -0.089583382, -0.207349837, -0.373245627, -0.428051561, 0.555575371, 0.403799355, -0.0526080392, 0.0622902475,
};
static const double labels_SGD_weights_tags_bias[] = {
    -0.139768392, 0.188183799, 0.0570451245, -0.366668046,
};
static const double labels_Adam_losses[] = {
    0.669320345, 0.845037937, 0.665576339, 0.732317865, 0.734904528, 0.657054424, 0.782345772, 0.662828624, 0.700663686, 0.697363615,
    0.658912182, 0.740772843, 0.666102171, 0.683700979, 0.664347172, 0.666179121, 0.705448151, 0.673531771, 0.676628709, 0.637949467,
    0.675141096, 0.67527318, 0.681463242, 0.676272631, 0.618148088, 0.681349516, 0.648211718, 0.68730557, 0.679501295, 0.602159441,
    0.68570143, 0.626057982, 0.691276252, 0.683966994, 0.5907377, 0.690666497, 0.61224252, 0.692355692, 0.688812137, 0.583681464,
    0.69211185, 0.606959522, 0.690536618, 0.691041887, 0.578743458, 0.691061795, 0.606597602, 0.686954618, 0.688662291, 0.573811114,
    0.688905716, 0.607846439, 0.682924747, 0.682587206, 0.572620213, 0.685842812, 0.608997524, 0.678675473, 0.676881492, 0.573101282,
    0.682065248, 0.608773589, 0.673798263, 0.673012018, 0.57292366, 0.678130031, 0.60747242, 0.66868639, 0.670552015, 0.569766164,
    0.674898624, 0.606063247, 0.664021492, 0.668286562, 0.563086629, 0.672638834, 0.603666544, 0.660047054, 0.665933132, 0.556826711,
    0.67036438, 0.600255311, 0.65581888, 0.662484467, 0.551942825, 0.667617798, 0.596859813, 0.651178837, 0.657602191, 0.546673059,
    0.664675176, 0.594495833, 0.646552801, 0.652300119, 0.540261388, 0.66099298, 0.593373835, 0.641217828, 0.645869136, 0.535281181,
};
static const double labels_Adam_epochs_binary_accuracy[] = {
    0.486111104, 0.5, 0.541666687, 0.555555582, 0.583333313, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209,
    0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209, 0.597222209,
};
static const double labels_Adam_epochs_loss[] = {
    0.728823245, 0.700349927, 0.684813738, 0.675725043, 0.670494318, 0.666099489, 0.662749231, 0.661315024, 0.660004795, 0.657818198,
    0.655238748, 0.652655065, 0.649802446, 0.646605313, 0.643291771, 0.640155315, 0.636643171, 0.632576644, 0.628478765, 0.6242432,
};
static const double labels_Adam_evaluated_binary_accuracy[] = {
    0.597222209,
};
static const double labels_Adam_evaluated_loss[] = {
    0.620518684,
};
static const double labels_Adam_weights_edges_kernel[] = {
    -0.449106187, -0.0910266563, -0.355235517, 0.00698027387, 0.066774413, 0.441484302, 0.423618346, 0.519216657,
};
static const double labels_Adam_weights_edges_bias[] = {
    0.246485487, -0.294419229, -0.155152589, 0.0738556683, 0.386454612, -0.378762066,
};
static const double labels_Adam_weights_tags_kernel[] = {
    -0.482693434, -0.222447321, -0.536001444, -0.658697665, 0.546938717, 0.38150093, 0.0653185919, 0.0606106929,
};
static const double labels_Adam_weights_tags_bias[] = {
    -0.204641134, 0.0915007815, 0.173959151, -0.384358078,
};

static const keras_list keras_lists[] = {
    {"line_SGD_losses", line_SGD_losses, sizeof line_SGD_losses / sizeof *line_SGD_losses},
    {"line_SGD_epochs_loss", line_SGD_epochs_loss, sizeof line_SGD_epochs_loss / sizeof *line_SGD_epochs_loss},
    {"line_SGD_epochs_mae", line_SGD_epochs_mae, sizeof line_SGD_epochs_mae / sizeof *line_SGD_epochs_mae},
    {"line_SGD_evaluated_loss", line_SGD_evaluated_loss, sizeof line_SGD_evaluated_loss / sizeof *line_SGD_evaluated_loss},
    {"line_SGD_evaluated_mae", line_SGD_evaluated_mae, sizeof line_SGD_evaluated_mae / sizeof *line_SGD_evaluated_mae},
    {"line_SGD_weights_y_kernel", line_SGD_weights_y_kernel, sizeof line_SGD_weights_y_kernel / sizeof *line_SGD_weights_y_kernel},
    {"line_SGD_weights_y_bias", line_SGD_weights_y_bias, sizeof line_SGD_weights_y_bias / sizeof *line_SGD_weights_y_bias},
    {"line_Adam_losses", line_Adam_losses, sizeof line_Adam_losses / sizeof *line_Adam_losses},
    {"line_Adam_epochs_loss", line_Adam_epochs_loss, sizeof line_Adam_epochs_loss / sizeof *line_Adam_epochs_loss},
    {"line_Adam_epochs_mae", line_Adam_epochs_mae, sizeof line_Adam_epochs_mae / sizeof *line_Adam_epochs_mae},
    {"line_Adam_evaluated_loss", line_Adam_evaluated_loss, sizeof line_Adam_evaluated_loss / sizeof *line_Adam_evaluated_loss},
    {"line_Adam_evaluated_mae", line_Adam_evaluated_mae, sizeof line_Adam_evaluated_mae / sizeof *line_Adam_evaluated_mae},
    {"line_Adam_weights_y_kernel", line_Adam_weights_y_kernel, sizeof line_Adam_weights_y_kernel / sizeof *line_Adam_weights_y_kernel},
    {"line_Adam_weights_y_bias", line_Adam_weights_y_bias, sizeof line_Adam_weights_y_bias / sizeof *line_Adam_weights_y_bias},
    {"table_SGD_losses", table_SGD_losses, sizeof table_SGD_losses / sizeof *table_SGD_losses},
    {"table_SGD_epochs_accuracy", table_SGD_epochs_accuracy, sizeof table_SGD_epochs_accuracy / sizeof *table_SGD_epochs_accuracy},
    {"table_SGD_epochs_loss", table_SGD_epochs_loss, sizeof table_SGD_epochs_loss / sizeof *table_SGD_epochs_loss},
    {"table_SGD_evaluated_accuracy", table_SGD_evaluated_accuracy, sizeof table_SGD_evaluated_accuracy / sizeof *table_SGD_evaluated_accuracy},
    {"table_SGD_evaluated_loss", table_SGD_evaluated_loss, sizeof table_SGD_evaluated_loss / sizeof *table_SGD_evaluated_loss},
    {"table_SGD_weights_place_embeddings", table_SGD_weights_place_embeddings, sizeof table_SGD_weights_place_embeddings / sizeof *table_SGD_weights_place_embeddings},
    {"table_SGD_weights_hidden_kernel", table_SGD_weights_hidden_kernel, sizeof table_SGD_weights_hidden_kernel / sizeof *table_SGD_weights_hidden_kernel},
    {"table_SGD_weights_hidden_bias", table_SGD_weights_hidden_bias, sizeof table_SGD_weights_hidden_bias / sizeof *table_SGD_weights_hidden_bias},
    {"table_SGD_weights_offer_kernel", table_SGD_weights_offer_kernel, sizeof table_SGD_weights_offer_kernel / sizeof *table_SGD_weights_offer_kernel},
    {"table_SGD_weights_offer_bias", table_SGD_weights_offer_bias, sizeof table_SGD_weights_offer_bias / sizeof *table_SGD_weights_offer_bias},
    {"table_Adam_losses", table_Adam_losses, sizeof table_Adam_losses / sizeof *table_Adam_losses},
    {"table_Adam_epochs_accuracy", table_Adam_epochs_accuracy, sizeof table_Adam_epochs_accuracy / sizeof *table_Adam_epochs_accuracy},
    {"table_Adam_epochs_loss", table_Adam_epochs_loss, sizeof table_Adam_epochs_loss / sizeof *table_Adam_epochs_loss},
    {"table_Adam_evaluated_accuracy", table_Adam_evaluated_accuracy, sizeof table_Adam_evaluated_accuracy / sizeof *table_Adam_evaluated_accuracy},
    {"table_Adam_evaluated_loss", table_Adam_evaluated_loss, sizeof table_Adam_evaluated_loss / sizeof *table_Adam_evaluated_loss},
    {"table_Adam_weights_place_embeddings", table_Adam_weights_place_embeddings, sizeof table_Adam_weights_place_embeddings / sizeof *table_Adam_weights_place_embeddings},
    {"table_Adam_weights_hidden_kernel", table_Adam_weights_hidden_kernel, sizeof table_Adam_weights_hidden_kernel / sizeof *table_Adam_weights_hidden_kernel},
    {"table_Adam_weights_hidden_bias", table_Adam_weights_hidden_bias, sizeof table_Adam_weights_hidden_bias / sizeof *table_Adam_weights_hidden_bias},
    {"table_Adam_weights_offer_kernel", table_Adam_weights_offer_kernel, sizeof table_Adam_weights_offer_kernel / sizeof *table_Adam_weights_offer_kernel},
    {"table_Adam_weights_offer_bias", table_Adam_weights_offer_bias, sizeof table_Adam_weights_offer_bias / sizeof *table_Adam_weights_offer_bias},
    {"sequences_SGD_losses", sequences_SGD_losses, sizeof sequences_SGD_losses / sizeof *sequences_SGD_losses},
    {"sequences_SGD_epochs_binary_accuracy", sequences_SGD_epochs_binary_accuracy, sizeof sequences_SGD_epochs_binary_accuracy / sizeof *sequences_SGD_epochs_binary_accuracy},
    {"sequences_SGD_epochs_loss", sequences_SGD_epochs_loss, sizeof sequences_SGD_epochs_loss / sizeof *sequences_SGD_epochs_loss},
    {"sequences_SGD_evaluated_binary_accuracy", sequences_SGD_evaluated_binary_accuracy, sizeof sequences_SGD_evaluated_binary_accuracy / sizeof *sequences_SGD_evaluated_binary_accuracy},
    {"sequences_SGD_evaluated_loss", sequences_SGD_evaluated_loss, sizeof sequences_SGD_evaluated_loss / sizeof *sequences_SGD_evaluated_loss},
    {"sequences_SGD_weights_rows_embeddings", sequences_SGD_weights_rows_embeddings, sizeof sequences_SGD_weights_rows_embeddings / sizeof *sequences_SGD_weights_rows_embeddings},
    {"sequences_SGD_weights_hidden_kernel", sequences_SGD_weights_hidden_kernel, sizeof sequences_SGD_weights_hidden_kernel / sizeof *sequences_SGD_weights_hidden_kernel},
    {"sequences_SGD_weights_hidden_bias", sequences_SGD_weights_hidden_bias, sizeof sequences_SGD_weights_hidden_bias / sizeof *sequences_SGD_weights_hidden_bias},
    {"sequences_SGD_weights_good_kernel", sequences_SGD_weights_good_kernel, sizeof sequences_SGD_weights_good_kernel / sizeof *sequences_SGD_weights_good_kernel},
    {"sequences_SGD_weights_good_bias", sequences_SGD_weights_good_bias, sizeof sequences_SGD_weights_good_bias / sizeof *sequences_SGD_weights_good_bias},
    {"sequences_Adam_losses", sequences_Adam_losses, sizeof sequences_Adam_losses / sizeof *sequences_Adam_losses},
    {"sequences_Adam_epochs_binary_accuracy", sequences_Adam_epochs_binary_accuracy, sizeof sequences_Adam_epochs_binary_accuracy / sizeof *sequences_Adam_epochs_binary_accuracy},
    {"sequences_Adam_epochs_loss", sequences_Adam_epochs_loss, sizeof sequences_Adam_epochs_loss / sizeof *sequences_Adam_epochs_loss},
    {"sequences_Adam_evaluated_binary_accuracy", sequences_Adam_evaluated_binary_accuracy, sizeof sequences_Adam_evaluated_binary_accuracy / sizeof *sequences_Adam_evaluated_binary_accuracy},
    {"sequences_Adam_evaluated_loss", sequences_Adam_evaluated_loss, sizeof sequences_Adam_evaluated_loss / sizeof *sequences_Adam_evaluated_loss},
    {"sequences_Adam_weights_rows_embeddings", sequences_Adam_weights_rows_embeddings, sizeof sequences_Adam_weights_rows_embeddings / sizeof *sequences_Adam_weights_rows_embeddings},
    {"sequences_Adam_weights_hidden_kernel", sequences_Adam_weights_hidden_kernel, sizeof sequences_Adam_weights_hidden_kernel / sizeof *sequences_Adam_weights_hidden_kernel},
    {"sequences_Adam_weights_hidden_bias", sequences_Adam_weights_hidden_bias, sizeof sequences_Adam_weights_hidden_bias / sizeof *sequences_Adam_weights_hidden_bias},
    {"sequences_Adam_weights_good_kernel", sequences_Adam_weights_good_kernel, sizeof sequences_Adam_weights_good_kernel / sizeof *sequences_Adam_weights_good_kernel},
    {"sequences_Adam_weights_good_bias", sequences_Adam_weights_good_bias, sizeof sequences_Adam_weights_good_bias / sizeof *sequences_Adam_weights_good_bias},
    {"mixed_SGD_losses", mixed_SGD_losses, sizeof mixed_SGD_losses / sizeof *mixed_SGD_losses},
    {"mixed_SGD_epochs_kind_accuracy", mixed_SGD_epochs_kind_accuracy, sizeof mixed_SGD_epochs_kind_accuracy / sizeof *mixed_SGD_epochs_kind_accuracy},
    {"mixed_SGD_epochs_kind_loss", mixed_SGD_epochs_kind_loss, sizeof mixed_SGD_epochs_kind_loss / sizeof *mixed_SGD_epochs_kind_loss},
    {"mixed_SGD_epochs_loss", mixed_SGD_epochs_loss, sizeof mixed_SGD_epochs_loss / sizeof *mixed_SGD_epochs_loss},
    {"mixed_SGD_epochs_price_loss", mixed_SGD_epochs_price_loss, sizeof mixed_SGD_epochs_price_loss / sizeof *mixed_SGD_epochs_price_loss},
    {"mixed_SGD_epochs_price_mae", mixed_SGD_epochs_price_mae, sizeof mixed_SGD_epochs_price_mae / sizeof *mixed_SGD_epochs_price_mae},
    {"mixed_SGD_evaluated_kind_accuracy", mixed_SGD_evaluated_kind_accuracy, sizeof mixed_SGD_evaluated_kind_accuracy / sizeof *mixed_SGD_evaluated_kind_accuracy},
    {"mixed_SGD_evaluated_kind_loss", mixed_SGD_evaluated_kind_loss, sizeof mixed_SGD_evaluated_kind_loss / sizeof *mixed_SGD_evaluated_kind_loss},
    {"mixed_SGD_evaluated_loss", mixed_SGD_evaluated_loss, sizeof mixed_SGD_evaluated_loss / sizeof *mixed_SGD_evaluated_loss},
    {"mixed_SGD_evaluated_price_loss", mixed_SGD_evaluated_price_loss, sizeof mixed_SGD_evaluated_price_loss / sizeof *mixed_SGD_evaluated_price_loss},
    {"mixed_SGD_evaluated_price_mae", mixed_SGD_evaluated_price_mae, sizeof mixed_SGD_evaluated_price_mae / sizeof *mixed_SGD_evaluated_price_mae},
    {"mixed_SGD_weights_edges_kernel", mixed_SGD_weights_edges_kernel, sizeof mixed_SGD_weights_edges_kernel / sizeof *mixed_SGD_weights_edges_kernel},
    {"mixed_SGD_weights_edges_bias", mixed_SGD_weights_edges_bias, sizeof mixed_SGD_weights_edges_bias / sizeof *mixed_SGD_weights_edges_bias},
    {"mixed_SGD_weights_hidden_kernel", mixed_SGD_weights_hidden_kernel, sizeof mixed_SGD_weights_hidden_kernel / sizeof *mixed_SGD_weights_hidden_kernel},
    {"mixed_SGD_weights_hidden_bias", mixed_SGD_weights_hidden_bias, sizeof mixed_SGD_weights_hidden_bias / sizeof *mixed_SGD_weights_hidden_bias},
    {"mixed_SGD_weights_kind_kernel", mixed_SGD_weights_kind_kernel, sizeof mixed_SGD_weights_kind_kernel / sizeof *mixed_SGD_weights_kind_kernel},
    {"mixed_SGD_weights_kind_bias", mixed_SGD_weights_kind_bias, sizeof mixed_SGD_weights_kind_bias / sizeof *mixed_SGD_weights_kind_bias},
    {"mixed_SGD_weights_price_kernel", mixed_SGD_weights_price_kernel, sizeof mixed_SGD_weights_price_kernel / sizeof *mixed_SGD_weights_price_kernel},
    {"mixed_SGD_weights_price_bias", mixed_SGD_weights_price_bias, sizeof mixed_SGD_weights_price_bias / sizeof *mixed_SGD_weights_price_bias},
    {"mixed_Adam_losses", mixed_Adam_losses, sizeof mixed_Adam_losses / sizeof *mixed_Adam_losses},
    {"mixed_Adam_epochs_kind_accuracy", mixed_Adam_epochs_kind_accuracy, sizeof mixed_Adam_epochs_kind_accuracy / sizeof *mixed_Adam_epochs_kind_accuracy},
    {"mixed_Adam_epochs_kind_loss", mixed_Adam_epochs_kind_loss, sizeof mixed_Adam_epochs_kind_loss / sizeof *mixed_Adam_epochs_kind_loss},
    {"mixed_Adam_epochs_loss", mixed_Adam_epochs_loss, sizeof mixed_Adam_epochs_loss / sizeof *mixed_Adam_epochs_loss},
    {"mixed_Adam_epochs_price_loss", mixed_Adam_epochs_price_loss, sizeof mixed_Adam_epochs_price_loss / sizeof *mixed_Adam_epochs_price_loss},
    {"mixed_Adam_epochs_price_mae", mixed_Adam_epochs_price_mae, sizeof mixed_Adam_epochs_price_mae / sizeof *mixed_Adam_epochs_price_mae},
    {"mixed_Adam_evaluated_kind_accuracy", mixed_Adam_evaluated_kind_accuracy, sizeof mixed_Adam_evaluated_kind_accuracy / sizeof *mixed_Adam_evaluated_kind_accuracy},
    {"mixed_Adam_evaluated_kind_loss", mixed_Adam_evaluated_kind_loss, sizeof mixed_Adam_evaluated_kind_loss / sizeof *mixed_Adam_evaluated_kind_loss},
    {"mixed_Adam_evaluated_loss", mixed_Adam_evaluated_loss, sizeof mixed_Adam_evaluated_loss / sizeof *mixed_Adam_evaluated_loss},
    {"mixed_Adam_evaluated_price_loss", mixed_Adam_evaluated_price_loss, sizeof mixed_Adam_evaluated_price_loss / sizeof *mixed_Adam_evaluated_price_loss},
    {"mixed_Adam_evaluated_price_mae", mixed_Adam_evaluated_price_mae, sizeof mixed_Adam_evaluated_price_mae / sizeof *mixed_Adam_evaluated_price_mae},
    {"mixed_Adam_weights_edges_kernel", mixed_Adam_weights_edges_kernel, sizeof mixed_Adam_weights_edges_kernel / sizeof *mixed_Adam_weights_edges_kernel},
    {"mixed_Adam_weights_edges_bias", mixed_Adam_weights_edges_bias, sizeof mixed_Adam_weights_edges_bias / sizeof *mixed_Adam_weights_edges_bias},
    {"mixed_Adam_weights_hidden_kernel", mixed_Adam_weights_hidden_kernel, sizeof mixed_Adam_weights_hidden_kernel / sizeof *mixed_Adam_weights_hidden_kernel},
    {"mixed_Adam_weights_hidden_bias", mixed_Adam_weights_hidden_bias, sizeof mixed_Adam_weights_hidden_bias / sizeof *mixed_Adam_weights_hidden_bias},
    {"mixed_Adam_weights_kind_kernel", mixed_Adam_weights_kind_kernel, sizeof mixed_Adam_weights_kind_kernel / sizeof *mixed_Adam_weights_kind_kernel},
    {"mixed_Adam_weights_kind_bias", mixed_Adam_weights_kind_bias, sizeof mixed_Adam_weights_kind_bias / sizeof *mixed_Adam_weights_kind_bias},
    {"mixed_Adam_weights_price_kernel", mixed_Adam_weights_price_kernel, sizeof mixed_Adam_weights_price_kernel / sizeof *mixed_Adam_weights_price_kernel},
    {"mixed_Adam_weights_price_bias", mixed_Adam_weights_price_bias, sizeof mixed_Adam_weights_price_bias / sizeof *mixed_Adam_weights_price_bias},
    {"labels_SGD_losses", labels_SGD_losses, sizeof labels_SGD_losses / sizeof *labels_SGD_losses},
    {"labels_SGD_epochs_binary_accuracy", labels_SGD_epochs_binary_accuracy, sizeof labels_SGD_epochs_binary_accuracy / sizeof *labels_SGD_epochs_binary_accuracy},
    {"labels_SGD_epochs_loss", labels_SGD_epochs_loss, sizeof labels_SGD_epochs_loss / sizeof *labels_SGD_epochs_loss},
    {"labels_SGD_evaluated_binary_accuracy", labels_SGD_evaluated_binary_accuracy, sizeof labels_SGD_evaluated_binary_accuracy / sizeof *labels_SGD_evaluated_binary_accuracy},
    {"labels_SGD_evaluated_loss", labels_SGD_evaluated_loss, sizeof labels_SGD_evaluated_loss / sizeof *labels_SGD_evaluated_loss},
    {"labels_SGD_weights_edges_kernel", labels_SGD_weights_edges_kernel, sizeof labels_SGD_weights_edges_kernel / sizeof *labels_SGD_weights_edges_kernel},
    {"labels_SGD_weights_edges_bias", labels_SGD_weights_edges_bias, sizeof labels_SGD_weights_edges_bias / sizeof *labels_SGD_weights_edges_bias},
    {"labels_SGD_weights_tags_kernel", labels_SGD_weights_tags_kernel, sizeof labels_SGD_weights_tags_kernel / sizeof *labels_SGD_weights_tags_kernel},
    {"labels_SGD_weights_tags_bias", labels_SGD_weights_tags_bias, sizeof labels_SGD_weights_tags_bias / sizeof *labels_SGD_weights_tags_bias},
    {"labels_Adam_losses", labels_Adam_losses, sizeof labels_Adam_losses / sizeof *labels_Adam_losses},
    {"labels_Adam_epochs_binary_accuracy", labels_Adam_epochs_binary_accuracy, sizeof labels_Adam_epochs_binary_accuracy / sizeof *labels_Adam_epochs_binary_accuracy},
    {"labels_Adam_epochs_loss", labels_Adam_epochs_loss, sizeof labels_Adam_epochs_loss / sizeof *labels_Adam_epochs_loss},
    {"labels_Adam_evaluated_binary_accuracy", labels_Adam_evaluated_binary_accuracy, sizeof labels_Adam_evaluated_binary_accuracy / sizeof *labels_Adam_evaluated_binary_accuracy},
    {"labels_Adam_evaluated_loss", labels_Adam_evaluated_loss, sizeof labels_Adam_evaluated_loss / sizeof *labels_Adam_evaluated_loss},
    {"labels_Adam_weights_edges_kernel", labels_Adam_weights_edges_kernel, sizeof labels_Adam_weights_edges_kernel / sizeof *labels_Adam_weights_edges_kernel},
    {"labels_Adam_weights_edges_bias", labels_Adam_weights_edges_bias, sizeof labels_Adam_weights_edges_bias / sizeof *labels_Adam_weights_edges_bias},
    {"labels_Adam_weights_tags_kernel", labels_Adam_weights_tags_kernel, sizeof labels_Adam_weights_tags_kernel / sizeof *labels_Adam_weights_tags_kernel},
    {"labels_Adam_weights_tags_bias", labels_Adam_weights_tags_bias, sizeof labels_Adam_weights_tags_bias / sizeof *labels_Adam_weights_tags_bias},
};
/* clang-format on */
